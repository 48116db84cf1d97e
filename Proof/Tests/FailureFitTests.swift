import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

@Suite("An error must have a valid reason")
struct FailureFitTests {
  private let medium = FailureKind.mediaError.failure(nth: 1, repeats: false)
  private let room = FailureKind.noSpace.failure(nth: 1, repeats: false)
  private let short = FailureKind.shortRead.failure(nth: 1, repeats: false)

  private func error(_ code: StoreError.Code, _ cause: InjectedFailure? = nil) -> StoreError {
    let cause = cause.map { FileIOError(errno: $0.errno, operation: .write, path: "/a") }
    return StoreError(code, "it failed", cause: cause)
  }

  private func misfit(
    _ error: StoreError, _ failure: InjectedFailure?, hasStruck: Bool = true, isVolumeFull: Bool = false
  ) -> String? {
    FailureFit(failure: failure, hasStruck: hasStruck, isVolumeFull: isVolumeFull).misfit(of: error)
  }

  @Test("An error that fits the failed call or the full volume is valid")
  func right() {
    #expect(misfit(error(.io, medium), medium) == nil)
    #expect(misfit(error(.diskFull, room), room) == nil)
    #expect(misfit(error(.corruption), short) == nil)
    #expect(misfit(error(.diskFull, room), nil, hasStruck: false, isVolumeFull: true) == nil)
    #expect(misfit(error(.diskFull, room), medium, hasStruck: false, isVolumeFull: true) == nil)
  }

  @Test(
    "`.diskFull` needs lack of space as its cause, and either a call that failed meanwhile or a full volume")
  func noRoomForNoReason() {
    #expect(misfit(error(.diskFull), nil, hasStruck: false, isVolumeFull: true) == "without a failure")
    #expect(misfit(error(.diskFull, medium), nil, hasStruck: false, isVolumeFull: true) != nil)
    #expect(misfit(error(.diskFull), room)?.hasPrefix("with a cause that is not") == true)
    #expect(misfit(error(.diskFull, room), nil, hasStruck: false) == "without a failure")
    #expect(misfit(error(.diskFull, room), room, hasStruck: false) == "though no call failed meanwhile")
  }

  @Test("An error is wrong if no call failed, or none failed during the store's operation")
  func noReason() {
    #expect(misfit(error(.io, medium), nil, hasStruck: false) == "without a failure")
    #expect(misfit(error(.poisoned), nil, hasStruck: false) == "without a failure")
    #expect(misfit(error(.io, medium), medium, hasStruck: false) == "though no call failed meanwhile")
  }

  @Test("A poisoned store must still be readable")
  func poisonedReads() {
    let fit = FailureFit(failure: medium, hasStruck: true, isReading: true)
    #expect(fit.misfit(of: error(.poisoned, medium)) == "though it can be read")
    #expect(fit.misfit(of: error(.io, medium)) == nil)
    #expect(misfit(error(.poisoned, medium), medium) == nil)
  }

  @Test("An error code that does not fit the failed call is wrong")
  func wrongKind() {
    for error in [error(.diskFull, medium), error(.corruption), error(.conflict), error(.notAStore)] {
      #expect(misfit(error, medium)?.hasPrefix("with a code that does not fit") == true)
    }
  }

  @Test("The code `.locked` is valid only if the call for the lock reported it")
  func locked() {
    let again = FailureKind.again.failure(nth: 1, repeats: false)
    func locked(_ operation: FileIOError.Operation, _ cause: InjectedFailure) -> StoreError {
      StoreError(
        .locked, "locked", cause: FileIOError(errno: cause.errno, operation: operation, path: "/a/LOCK"))
    }
    #expect(misfit(locked(.lock, again), again) == nil)
    #expect(misfit(locked(.write, again), again) == "though the lock was not refused")
    #expect(misfit(locked(.lock, medium), again) == "though the lock was not refused")
    #expect(misfit(locked(.lock, medium), medium) == "though the lock was not refused")
    #expect(misfit(locked(.lock, again), again, hasStruck: false) == "though no call failed meanwhile")
  }

  @Test("An error with a cause that is not the system's error, or without a cause, is wrong")
  func wrongCause() {
    #expect(misfit(error(.io, room), medium)?.hasPrefix("with a cause that is not") == true)
    #expect(misfit(error(.io), medium)?.hasPrefix("with a cause that is not") == true)
  }

  @Test("A refused call must not poison the store; a failed sync or an uncertain write may")
  func needlessPoison() {
    func needless(_ operation: FileIOError.Operation, _ failure: InjectedFailure?, _ path: String = "/a")
      -> String?
    {
      let cause = FileIOError(errno: failure?.errno ?? 0, operation: operation, path: path)
      return FailureFit(failure: failure, hasStruck: true)
        .needless(StoreError(.poisoned, "it failed", cause: cause))
    }
    #expect(needless(.write, room) != nil)
    #expect(needless(.create, medium) != nil)
    #expect(needless(.write, nil) != nil)
    #expect(FailureFit(failure: medium, hasStruck: true).needless(error(.poisoned)) != nil)
    #expect(needless(.write, medium) == nil)
    #expect(needless(.write, room, "/s.perdure/SUPERBLOCK") != nil)
    #expect(needless(.sync, room) == nil)
    #expect(needless(.write, FailureKind.noSpace.failure(nth: 1, repeats: true)) == nil)
    #expect(needless(.write, FailureKind.shortWrite.failure(nth: 1, repeats: false)) == nil)
  }
}

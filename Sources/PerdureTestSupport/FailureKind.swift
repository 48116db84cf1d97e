import PerdureFileIO

/// The ways in which a system can fail the calls of a program that stores data.
///
/// The file system of Perdure repeats interrupted calls and completes short transfers. A sweep does
/// not hide these failures from the program. A program must also be correct on a file system that
/// does not hide them.
public enum FailureKind: String, Sendable, Hashable, CaseIterable {
  /// `EIO`: the medium failed.
  case mediaError = "EIO"
  /// `ENOSPC`: the volume is full.
  case noSpace = "ENOSPC"
  /// `EDQUOT`: the user's share of the volume is used up.
  case quotaExceeded = "EDQUOT"
  /// `EINTR`: a signal interrupted the call, and the call was not repeated.
  case interrupted = "EINTR"
  /// `EAGAIN`: the call must be repeated later. For a lock, another process has the lock.
  case again = "EAGAIN"
  /// `EMFILE`: the process has too many files open.
  case tooManyFiles = "EMFILE"
  /// `EROFS`: the volume has become read-only, as after an error of the medium.
  case readOnly = "EROFS"
  /// `EACCES`: the process lacks the permission for the call.
  case accessDenied = "EACCES"
  /// A read returns fewer bytes than requested, although the file continues.
  case shortRead = "short read"
  /// A write stores a part of its bytes and fails with `ENOSPC` or `EIO`, alternately.
  case shortWrite = "short write"
  /// A sync fails. The unsynced bytes can be read, but no later sync makes them durable.
  case syncDropsPages = "sync drops"
  /// The volume is full, but only the sync that allocates blocks for the written bytes reports it.
  case noSpaceAtSync = "ENOSPC at sync"
  /// `ENOMEM`: the process has no address space or memory left to map a file.
  case noMemory = "ENOMEM"

  /// The only kind of call that can fail in this way; nil for any kind.
  public var operation: FileOperation? {
    switch self {
    case .shortRead: .read
    case .shortWrite: .write
    case .syncDropsPages, .noSpaceAtSync: .sync
    case .noMemory: .map
    default: nil
    }
  }

  /// The failure of the nth call that can fail in this way. The number of transferred bytes varies
  /// with `nth`.
  public func failure(nth: Int, repeats: Bool) -> InjectedFailure {
    InjectedFailure(
      of: operation, nth: nth, repeats: repeats, errno: errno(nth), effect: effect(nth))
  }

  private func errno(_ nth: Int) -> Int32 {
    switch self {
    case .mediaError, .shortRead, .syncDropsPages: ErrorNumber.mediaError
    case .noSpace, .noSpaceAtSync: ErrorNumber.noSpace
    case .quotaExceeded: ErrorNumber.quotaExceeded
    case .interrupted: ErrorNumber.interrupted
    case .again: ErrorNumber.again
    case .tooManyFiles: ErrorNumber.tooManyFiles
    case .readOnly: ErrorNumber.readOnly
    case .accessDenied: ErrorNumber.accessDenied
    case .noMemory: ErrorNumber.noMemory
    case .shortWrite: nth.isMultiple(of: 2) ? ErrorNumber.mediaError : ErrorNumber.noSpace
    }
  }

  private func effect(_ nth: Int) -> InjectedFailure.Effect {
    let lengths = [1 << 20, 0, 60, 200, 511, 4096]
    return switch self {
    case .shortRead: .partialRead(byteCount: lengths[nth % lengths.count])
    case .shortWrite: .partialWrite(byteCount: lengths[nth % lengths.count])
    case .syncDropsPages, .noSpaceAtSync: .forgetsWrites
    default: .nothing
    }
  }
}

import PerdureFileIO
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

// A mapped file that two processes share. One process runs a campaign, and the other watches it.
// The content remains when the first process traps, hangs or is killed, so its last input is known.
// Writing costs almost nothing.
//
// Layout: the number of beats (8 bytes), then notes of `noteLength` bytes. Each note has a length
// (8 bytes), a number (8 bytes) and text. A length of 0 means that the note is empty. While the
// text of a note is replaced, its length is 0. All words have the byte order of this machine.

/// The shared page where a campaign notes its current step.
// Unchecked: the memory is mapped for the lifetime of this object. The count of beats is an atomic
// word, each note belongs to one task, and the other process reads the file.
package final class ProofDesk: @unchecked Sendable {
  static let noteCount = 63
  static let noteLength = 1024
  static let length = (noteCount + 1) * noteLength

  private let bytes: UnsafeMutableRawPointer
  /// The count of beats: the first word of the page.
  private let beats: UnsafeMutablePointer<Atomic<UInt64>>
  private let free = Guarded(Array((1...noteCount).reversed()))

  /// Maps the file that `make` created.
  package init(_ path: String) throws {
    let file = open(path, O_RDWR)
    guard file >= 0 else { throw Violation("\(path) cannot be opened: error \(errno)") }
    defer { close(file) }
    let place = mmap(nil, Self.length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard let place, place != MAP_FAILED else { throw Violation("\(path) cannot be mapped: error \(errno)") }
    bytes = place
    beats = place.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
  }

  deinit { munmap(bytes, Self.length) }

  /// Creates an empty desk.
  package static func make(_ path: String) throws {
    let file = try POSIXFileSystem().open(path, .create)
    try file.write([UInt8](repeating: 0, count: length), at: 0)
    try file.close()
  }

  /// Reports progress.
  package func beat() { beats.pointee.add(1, ordering: .relaxed) }

  /// Returns a note for one more task. If all notes are in use, the returned note is not in the
  /// file.
  func newNote() -> ProofNote {
    guard let number = free.withLock({ $0.popLast() }) else { return ProofNote() }
    let start = bytes + number * Self.noteLength
    return ProofNote(UnsafeMutableRawBufferPointer(start: start, count: Self.noteLength)) {
      self.free.withLock { $0.append(number) }
    }
  }

  /// The content of a desk, read by another process.
  package struct Look: Equatable, Sendable {
    package var beats: UInt64
    /// The current step of each task.
    package var notes: [String]

    package init(_ path: String) throws {
      let file = try POSIXFileSystem().open(path, .read)
      var bytes = try file.read(ProofDesk.length, at: 0)
      // The process that creates the desk may not have written the whole file yet.
      bytes += [UInt8](repeating: 0, count: ProofDesk.length - bytes.count)
      try file.close()
      func word(_ place: Int) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt64.self) }
      }
      beats = word(0)
      notes = (1...ProofDesk.noteCount).compactMap { number in
        let start = number * ProofDesk.noteLength
        let length = Int(clamping: word(start))
        guard length > 0, length <= ProofDesk.noteLength - 16 else { return nil }
        let text = String(decoding: bytes[(start + 16)..<(start + 16 + length)], as: UTF8.self)
        let count = word(start + 8)
        return count == 0 ? text : "\(text)|\(count - 1)"
      }
    }
  }
}

/// The current step of one task: a part, in the form of `ProofPlan.part`. The slot in the page is
/// freed when the note is released.
// Unchecked: only the task that requested the note writes it.
package final class ProofNote: @unchecked Sendable {
  private let bytes: UnsafeMutableRawBufferPointer?
  /// Frees the slot in the page. It also retains the desk, which keeps the memory mapped.
  private let onEnd: () -> Void

  /// Makes a note that is not in the file.
  init() { (bytes, onEnd) = (nil, {}) }

  fileprivate init(_ bytes: UnsafeMutableRawBufferPointer, onEnd: @escaping () -> Void) {
    (self.bytes, self.onEnd) = (bytes, onEnd)
  }

  deinit {
    clear()
    onEnd()
  }

  /// Notes the beginning of a new step. Text that is too long is cut.
  package func begin(_ words: @autoclosure () -> String) {
    guard let bytes else { return }
    clear()
    var count = 0
    for byte in words().utf8.prefix(bytes.count - 16) {
      bytes[16 + count] = byte
      count += 1
    }
    bytes.storeBytes(of: UInt64(count), as: UInt64.self)
  }

  /// Notes the number of the next case in the current part. It is the last word of the part.
  package func step(_ number: Int) {
    bytes?.storeBytes(of: UInt64(number) + 1, toByteOffset: 8, as: UInt64.self)
  }

  private func clear() {
    bytes?.storeBytes(of: 0, as: UInt64.self)
    bytes?.storeBytes(of: 0, toByteOffset: 8, as: UInt64.self)
  }
}

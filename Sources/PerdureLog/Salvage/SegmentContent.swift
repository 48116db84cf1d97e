import PerdureCompression
import PerdureFileIO
import PerdureFormat

/// The bytes of one segment in memory, of one in groups as they are unpacked. What the medium does not give, and what
/// of a group cannot be unpacked, is zero.
///
/// A segment in groups takes its file's length and that of its body for a moment.
final class SegmentContent {
  private var memory: UnsafeMutableRawBufferPointer
  /// Where the medium gave nothing, in the file.
  private(set) var unreadable: [Range<Int>] = []
  /// Whether the frames stand in groups: then all places are those that they are unpacked to.
  private(set) var isGrouped = false

  private static let pieceLength = 1 << 20
  private static let blockLength = 4096

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  init(_ segment: SalvageSource.SourceSegment, _ source: SalvageSource) throws {
    let length = min(segment.size, FormatLimits.segmentCapacityMax)
    memory = .allocate(byteCount: length, alignment: 8)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    do {
      let file = try source.fileSystem.open(source.directory + "/" + segment.name, .read)
      read(file, 0..<length, Self.pieceLength)
    } catch {
      unreadable = [0..<length]
    }
    // Without header and footer nobody knows; entries have checksums of their own.
    let isGrouped = segment.header?.isGrouped ?? segment.footer.map { $0.groupCount > 0 } ?? true
    if isGrouped { unpackGroups() }
  }

  deinit { memory.deallocate() }

  /// Reads in large pieces, and where one fails, block by block.
  private func read(_ file: any File, _ range: Range<Int>, _ step: Int) {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: step) {
      let part = start..<min(start + step, range.upperBound)
      do {
        _ = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: memory[part]), at: UInt64(start))
      } catch  where step > Self.blockLength {
        read(file, part, Self.blockLength)
      } catch {
        for place in part { memory[place] = 0 }
        if let last = unreadable.last, last.upperBound == part.lowerBound {
          unreadable[unreadable.count - 1] = last.lowerBound..<part.upperBound
        } else {
          unreadable.append(part)
        }
      }
    }
  }

  /// Puts what the groups unpack to in the place of the file's bytes.
  private func unpackGroups() {
    let entries = GroupTable.search(in: bytes)
    guard let end = entries.last?.end else { return }
    isGrouped = true
    let body = UnsafeMutableRawBufferPointer.allocate(byteCount: end, alignment: 8)
    body.initializeMemory(as: UInt8.self, repeating: 0)
    UnsafeMutableRawBufferPointer(rebasing: body[..<SegmentHeader.length])
      .copyMemory(from: bytes.part(0..<SegmentHeader.length))
    for entry in entries {
      guard let stored = entry.stored(in: bytes) else { continue }
      // Of a damaged group what comes before the damage, and perhaps what comes behind it: each record that is
      // found there has its checksum.
      let target = UnsafeMutableRawBufferPointer(rebasing: body[entry.offset..<entry.end])
      _ = entry.unpack(stored, into: target, LZ4BlockDecoder.self)
    }
    memory.deallocate()
    memory = body
  }
}

import PerdureCompression
import PerdureTestSupport

/// Bytes with typical content for a compressor: noise, runs, near and distant repetitions.
func sample(_ size: Int, using random: inout SeededGenerator) -> [UInt8] {
  var bytes: [UInt8] = []
  while bytes.count < size {
    let length = Int.random(in: 1...max(1, min(400, size - bytes.count)), using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: bytes += (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
    case 1: bytes += [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: length)
    case 2: bytes += Array("Package: perdure\nVersion: 1.0-1\nDepends: libc6 (>= 2.36)\n".utf8)
    default:
      guard !bytes.isEmpty else { continue }
      let back = Int.random(in: 1...bytes.count, using: &random)
      for _ in 0..<length { bytes.append(bytes[bytes.count - back]) }
    }
  }
  return Array(bytes.prefix(size))
}

/// `bytes` damaged by one to four changed bits, changed bytes, cuts or insertions.
func mutated(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
  var result = bytes
  for _ in 0..<Int.random(in: 1...4, using: &random) {
    guard !result.isEmpty else { return [UInt8.random(in: 0...255, using: &random)] }
    let position = Int.random(in: 0..<result.count, using: &random)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: result[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: result[position] = [0, 15, 240, 255].randomElement(using: &random) ?? 255
    case 2: result[position] = UInt8.random(in: 0...255, using: &random)
    case 3: result.removeSubrange(position...)
    default: result.insert(UInt8.random(in: 0...255, using: &random), at: position)
    }
  }
  return result
}

func compressed(_ bytes: [UInt8]) throws -> [UInt8] {
  try bytes.withUnsafeBytes { input in try LZ4Block.compress(input) }
}

/// The result of decompressing a block: its bytes, or the error.
enum Outcome: Equatable {
  case bytes([UInt8])
  case failure(CompressionError.Code)
}

/// Decompresses `block` into an output of `room` bytes, which is between two guards of canary
/// bytes.
///
/// - Returns: The outcome, the error if there was one, and whether both guards are unchanged.
func open(
  _ block: [UInt8], by decoder: any LZ4BlockDecoding.Type, room: Int, dictionary: [UInt8] = []
) -> (outcome: Outcome, error: CompressionError?, wallsStand: Bool) {
  let wall = [UInt8](repeating: 0xC5, count: 64)
  var memory = wall + [UInt8](repeating: 0, count: room) + wall
  let end = wall.count + room
  var outcome = Outcome.bytes([])
  var failure: CompressionError?
  memory.withUnsafeMutableBytes { bytes in
    let output = UnsafeMutableRawBufferPointer(rebasing: bytes[wall.count..<end])
    block.withUnsafeBytes { source in
      dictionary.withUnsafeBytes { dictionary in
        do throws(CompressionError) {
          let count = try decoder.decompress(source, into: output, dictionary: dictionary)
          outcome = .bytes(Array(output[..<count]))
        } catch {
          outcome = .failure(error.code)
          failure = error
        }
      }
    }
  }
  return (outcome, failure, Array(memory.prefix(wall.count)) == wall && Array(memory[end...]) == wall)
}

#if canImport(CLZ4)
  private import CLZ4
#endif

/// Raw LZ4 blocks through liblz4. Without liblz4, blocks can be decompressed (by `LZ4BlockDecoder`)
/// but not made.
package enum LZ4Block: LZ4BlockDecoding {
  /// The maximum length of the input of one block, in bytes.
  package static let inputSizeLimit = 0x7E00_0000

  /// The maximum size of the block for an input of `inputSize` bytes. Incompressible input grows by
  /// at most 1/255 of its length plus 16 bytes.
  ///
  /// - Parameter inputSize: 0...`inputSizeLimit`.
  package static func compressedSizeLimit(ofInput inputSize: Int) -> Int {
    precondition(
      (0...inputSizeLimit).contains(inputSize), "The input must have 0 to \(inputSizeLimit) bytes.")
    return inputSize + inputSize / 255 + 16
  }

  /// Compresses `input` into one block.
  ///
  /// - Parameters:
  ///   - input: At most `inputSizeLimit` bytes.
  ///   - output: The buffer for the block. `compressedSizeLimit(ofInput:)` bytes are always enough.
  ///   - acceleration: 1 compresses best. Each further step makes compression about 3 % faster, and
  ///     the block longer.
  /// - Returns: The size of the block in bytes, at least 1.
  /// - Throws: `.outputTooSmall` (the contents of `output` are then unspecified), `.tooLarge`,
  ///   `.unsupported` if this build has no liblz4.
  package static func compress(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, acceleration: Int32 = 1
  ) throws(CompressionError) -> Int {
    guard input.count <= inputSizeLimit else {
      throw CompressionError(.tooLarge, at: inputSizeLimit, "The input is too long for one LZ4 block")
    }
    #if canImport(CLZ4)
      guard let target = output.baseAddress else { throw tooSmall(output) }
      var nothing: CChar = 0
      let written = withUnsafeMutablePointer(to: &nothing) { empty in
        LZ4_compress_fast(
          input.baseAddress?.assumingMemoryBound(to: CChar.self) ?? UnsafePointer(empty),
          target.assumingMemoryBound(to: CChar.self),
          Int32(input.count), Int32(clamping: output.count), acceleration)
      }
      guard written > 0 else { throw tooSmall(output) }
      return Int(written)
    #else
      throw CompressionError(.unsupported, at: 0, "This build has no liblz4 and cannot make LZ4 blocks")
    #endif
  }

  /// Compresses `input` into a new array. See `compress(_:into:acceleration:)`.
  package static func compress(_ input: UnsafeRawBufferPointer) throws(CompressionError) -> [UInt8] {
    guard input.count <= inputSizeLimit else {
      throw CompressionError(.tooLarge, at: inputSizeLimit, "The input is too long for one LZ4 block")
    }
    var failure: CompressionError?
    let limit = compressedSizeLimit(ofInput: input.count)
    let block = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      do throws(CompressionError) {
        count = try compress(input, into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return block
  }

  package static func decompress(
    _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    dictionary: UnsafeRawBufferPointer
  ) throws(CompressionError) -> Int {
    #if canImport(CLZ4)
      if output.baseAddress != nil, block.count <= Int32.max {
        return try open(block, into: output, behind: dictionary)
      }
    #endif
    return try LZ4BlockDecoder.decompress(block, into: output, dictionary: dictionary)
  }

  #if canImport(CLZ4)
    /// Decompresses a block through liblz4.
    ///
    /// - Parameter output: The buffer for the result. Its base address is not nil.
    /// - Parameter history: The bytes that logically precede the output.
    @inline(__always)
    private static func open(
      _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
      behind history: UnsafeRawBufferPointer
    ) throws(CompressionError) -> Int {
      guard let source = block.baseAddress, !block.isEmpty else {
        throw CompressionError(.truncated, at: 0, "The LZ4 block is empty")
      }
      let reach = min(history.count, 0x1_0000)
      let result = LZ4_decompress_safe_usingDict(
        source.assumingMemoryBound(to: CChar.self),
        output.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(block.count),
        Int32(clamping: output.count),
        history.baseAddress?.advanced(by: history.count - reach).assumingMemoryBound(to: CChar.self),
        Int32(reach))
      guard result >= 0 else {
        // On failure liblz4 returns -(offset) - 1.
        throw CompressionError(
          .damaged, at: -1 - Int(result),
          "The LZ4 block is damaged, or its content does not fit in the output")
      }
      return Int(result)
    }
  #endif

  private static func tooSmall(_ output: UnsafeMutableRawBufferPointer) -> CompressionError {
    CompressionError(.outputTooSmall, at: output.count, "The LZ4 block does not fit in \(output.count) bytes")
  }
}

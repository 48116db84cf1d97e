import PerdureFileIO
import PerdureTestSupport
import Testing

// The possible disks after a loss of power. The tests check each rule of DurabilityModel through
// the public interface.

private func explorer() -> CrashExplorer {
  var explorer = CrashExplorer(seed: 1)
  explorer.imagesPerOperationMax = 256
  return explorer
}

/// All possible disks after a loss of power at the end of `body`.
private func remains(
  _ explorer: CrashExplorer = explorer(), on image: CrashImage = .empty,
  _ body: (SimulatedFileSystem) throws -> Void
) throws -> [CrashImage] {
  let fileSystem = SimulatedFileSystem(image)
  try body(fileSystem)
  return explorer.images(of: fileSystem.journal, after: fileSystem.operationCount)
}

/// A disk with a durable file `/f` that contains the given bytes.
private func diskWithFile(_ bytes: [UInt8] = []) throws -> CrashImage {
  let fileSystem = SimulatedFileSystem()
  try fileSystem.open("/f", .create).write(bytes, at: 0)
  return fileSystem.currentImage
}

private func filled(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

@Suite("Disks after a loss of power")
struct CrashImageTests {
  @Test("A new file's name may be lost until its directory is synced")
  func creation() throws {
    let unsynced = try remains { fileSystem in
      let file = try fileSystem.open("/a", .create)
      try file.write(utf8: "x", at: 0)
      try file.sync(.full)
    }
    #expect(Set(unsynced.map(\.paths)) == [[], ["/a"]])
    #expect(unsynced.allSatisfy { $0.bytes(at: "/a") ?? [0x78] == [0x78] })
    let synced = try remains { fileSystem in
      _ = try fileSystem.open("/a", .create)
      try fileSystem.syncDirectory("/")
    }
    #expect(synced.map(\.paths) == [["/a"]])
  }

  @Test("Syncing a file's name does not make its bytes durable")
  func namesWithoutBytes() throws {
    let disks = try remains { fileSystem in
      try fileSystem.open("/a", .create).write(utf8: "x", at: 0)
      try fileSystem.syncDirectory("/")
    }
    let contents = Set(disks.map { $0.bytes(at: "/a") })
    #expect(contents.contains([]) && contents.contains([0x78]) && contents.contains([0]))
    #expect(!contents.contains(nil))
  }

  @Test("A file in a new directory is durable only after both directories are synced")
  func nested() throws {
    let disks = try remains { fileSystem in
      try fileSystem.createDirectory("/d")
      _ = try fileSystem.open("/d/a", .create)
      try fileSystem.syncDirectory("/d")
    }
    #expect(Set(disks.map(\.paths)) == [[], ["/d/", "/d/a"]])
  }

  @Test("A rename is lost or complete, and the destination always names a file")
  func rename() throws {
    let start = SimulatedFileSystem()
    try start.open("/old", .create).write(utf8: "old", at: 0)
    try start.open("/new", .create).write(utf8: "new", at: 0)
    let unsynced = try remains(on: start.currentImage) { try $0.rename("/new", to: "/old") }
    #expect(Set(unsynced.map(\.paths)) == [["/new", "/old"], ["/old"]])
    #expect(unsynced.contains { $0.bytes(at: "/old") == Array("new".utf8) && $0.bytes(at: "/new") == nil })
    let synced = try remains(on: start.currentImage) { fileSystem in
      try fileSystem.rename("/new", to: "/old")
      try fileSystem.syncDirectory("/")
    }
    #expect(synced.map(\.paths) == [["/old"]])
  }

  @Test("A rename between directories may leave both names, but at least one")
  func renameAcross() throws {
    let start = SimulatedFileSystem()
    try start.createDirectory("/d")
    try start.open("/a", .create).write(utf8: "x", at: 0)
    let unsynced = try remains(on: start.currentImage) { try $0.rename("/a", to: "/d/b") }
    #expect(Set(unsynced.map(\.paths)) == [["/a", "/d/"], ["/a", "/d/", "/d/b"], ["/d/", "/d/b"]])
    for directory in ["/", "/d"] {
      let synced = try remains(on: start.currentImage) { fileSystem in
        try fileSystem.rename("/a", to: "/d/b")
        try fileSystem.syncDirectory(directory)
      }
      #expect(synced.allSatisfy { $0.bytes(at: "/d/b") != nil })
      #expect(synced.contains { $0.bytes(at: "/a") == nil })
      #expect(synced.contains { $0.bytes(at: "/a") != nil } == (directory == "/d"))
    }
  }

  @Test("A removed name may reappear until its directory is synced")
  func removal() throws {
    let unsynced = try remains(on: try diskWithFile()) { try $0.remove("/f") }
    #expect(Set(unsynced.map(\.paths)) == [[], ["/f"]])
    let synced = try remains(on: try diskWithFile()) { fileSystem in
      try fileSystem.remove("/f")
      try fileSystem.syncDirectory("/")
    }
    #expect(synced == [.empty])
  }

  @Test("Changes of names between two syncs become durable in any order")
  func namesInAnyOrder() throws {
    let disks = try remains { fileSystem in
      for name in ["/a", "/b", "/c"] { _ = try fileSystem.open(name, .create) }
    }
    #expect(Set(disks.map(\.paths)).count == 8)
  }

  @Test("Unsynced writes may be lost, kept or reordered, in every combination")
  func subsets() throws {
    let disks = try remains(on: try diskWithFile()) { fileSystem in
      let file = try fileSystem.open("/f", .readWrite)
      for index in 0..<3 { try file.write(utf8: "ab", at: UInt64(index * 2)) }
    }
    let contents = Set(disks.compactMap { $0.bytes(at: "/f") })
    for mask in 0..<8 {
      var expected: [UInt8] = []
      for index in 0..<3 where mask & 1 << index != 0 {
        expected += filled(0, index * 2 - expected.count) + Array("ab".utf8)
      }
      #expect(contents.contains(expected), "\(mask)")
    }
  }

  @Test("Any sectors of a torn write may be missing, and missing sectors have the old bytes, zeros or noise")
  func torn() throws {
    let start = try diskWithFile(filled(1, 1536))
    let disks = try remains(on: start) { fileSystem in
      try fileSystem.open("/f", .readWrite).write(filled(2, 1536), at: 0)
    }
    let contents = Set(disks.compactMap { $0.bytes(at: "/f") })
    let expected = (0..<8).map { mask in
      (0..<3).flatMap { filled(mask & 1 << $0 != 0 ? 2 : 1, 512) }
    }
    // Missing sectors may also have zeros or noise.
    #expect(contents.filter { $0.allSatisfy { $0 == 1 || $0 == 2 } } == Set(expected))
    #expect(contents.contains(filled(0, 512) + filled(2, 1024)))
  }

  @Test("A torn write is divided at the boundaries of the disk's sectors")
  func tornUnaligned() throws {
    let start = try diskWithFile(filled(1, 1024))
    let disks = try remains(on: start) { fileSystem in
      try fileSystem.open("/f", .readWrite).write(filled(2, 24), at: 500)
    }
    let contents = Set(disks.compactMap { $0.bytes(at: "/f") })
    #expect(contents.count == 4)
    #expect(contents.contains(filled(1, 500) + filled(2, 12) + filled(1, 512)))
    #expect(contents.contains(filled(1, 512) + filled(2, 12) + filled(1, 500)))
  }

  @Test("A file may have its new length without its new bytes: they are zeros or, on request, garbage")
  func zerosAndGarbage() throws {
    var explorer = explorer()
    explorer.makesGarbage = false
    func contents(_ explorer: CrashExplorer) throws -> [[UInt8]] {
      try remains(explorer, on: try diskWithFile(filled(1, 100))) { fileSystem in
        try fileSystem.open("/f", .readWrite).write(filled(2, 600), at: 100)
      }.compactMap { $0.bytes(at: "/f") }
    }
    let plain = try contents(explorer)
    #expect(plain.contains(filled(1, 100) + filled(0, 600)))
    #expect(plain.contains(filled(1, 100) + filled(2, 412) + filled(0, 188)))
    #expect(plain.joined().allSatisfy { $0 <= 2 })
    explorer.makesGarbage = true
    let noisy = try contents(explorer)
    #expect(noisy.contains { $0.count == 700 && $0.contains { $0 > 2 } })
    #expect(noisy.allSatisfy { $0.prefix(100) == filled(1, 100)[...] })
  }

  @Test("On request, a lost write to a new file may leave bytes of a removed file")
  func staleBytes() throws {
    func contents(makesStaleBytes: Bool, syncsRemoval: Bool) throws -> [[UInt8]] {
      var explorer = explorer()
      explorer.makesStaleBytes = makesStaleBytes
      return try remains(explorer, on: try diskWithFile(filled(7, 300))) { fileSystem in
        try fileSystem.remove("/f")
        if syncsRemoval { try fileSystem.syncDirectory("/") }
        let file = try fileSystem.open("/g", .create)
        try fileSystem.syncDirectory("/")
        try file.write(filled(2, 600), at: 0)
      }.compactMap { $0.bytes(at: "/g") }
    }
    for syncsRemoval in [true, false] {
      let stale = try contents(makesStaleBytes: true, syncsRemoval: syncsRemoval)
      #expect(stale.contains(filled(7, 300) + filled(0, 300)))
      #expect(stale.contains(filled(7, 300) + filled(0, 212) + filled(2, 88)))
    }
    #expect(
      try contents(makesStaleBytes: false, syncsRemoval: true).allSatisfy { !$0.starts(with: filled(7, 300)) }
    )
  }

  @Test("A lost sector is zeros or garbage only if the write replaced it completely")
  func replacedSectors() throws {
    let disks = try remains(on: try diskWithFile(filled(1, 2048))) { fileSystem in
      // Replaces half of the first sector and the whole second sector, and rewrites the third
      // unchanged.
      let bytes = filled(2, 256) + filled(2, 512) + filled(1, 512)
      try fileSystem.open("/f", .readWrite).write(bytes, at: 256)
    }
    let contents = disks.compactMap { $0.bytes(at: "/f") }
    #expect(contents.contains { $0[512..<1024] == filled(0, 512)[...] })
    #expect(contents.contains { $0[512..<1024].contains { $0 > 2 } })
    for bytes in contents {
      #expect(bytes[..<256] == filled(1, 256)[...] && bytes[1024...] == filled(1, 1024)[...])
      #expect([filled(1, 256)[...], filled(2, 256)[...]].contains(bytes[256..<512]))
    }
  }

  @Test("If a write repeats the old bytes at the edges of a sector, these bytes survive its loss")
  func repeatedBytes() throws {
    let disks = try remains(on: try diskWithFile(filled(1, 1024))) { fileSystem in
      let bytes = filled(1, 300) + filled(2, 100) + filled(1, 112)
      try fileSystem.open("/f", .readWrite).write(bytes, at: 512)
    }
    let contents = disks.compactMap { $0.bytes(at: "/f") }
    #expect(contents.contains { $0[812..<912] == filled(0, 100)[...] })
    #expect(contents.contains { $0[812..<912].contains { $0 > 2 } })
    for bytes in contents {
      #expect(bytes[..<812] == filled(1, 812)[...] && bytes[912...] == filled(1, 112)[...])
    }
  }

  @Test("The report counts zeros and garbage as losses only if a write can cause them")
  func countedLosses() throws {
    func losses(_ write: (any File) throws -> Void) throws -> Set<CrashLoss> {
      let report = try explorer().explore(on: try diskWithFile(filled(1, 2048))) { fileSystem, _ in
        try write(fileSystem.open("/f", .readWrite))
      } verify: { _, _ in
      }
      return Set(report.lossCounts.keys)
    }
    #expect(try losses { try $0.write(filled(2, 512), at: 512) }.isSuperset(of: [.zeros, .garbage]))
    #expect(try losses { try $0.write(filled(2, 24), at: 500) }.isDisjoint(with: [.zeros, .garbage]))
    #expect(try losses { try $0.write(filled(1, 512), at: 512) }.isDisjoint(with: [.zeros, .garbage]))
  }

  @Test("Fully synced bytes are on every later disk")
  func syncedStays() throws {
    let disks = try remains(on: try diskWithFile()) { fileSystem in
      let file = try fileSystem.open("/f", .readWrite)
      try file.write(utf8: "kept", at: 0)
      try file.sync(.full)
      for index in 0..<12 { try file.write(utf8: "more", at: UInt64(4 + index * 4)) }
      try fileSystem.remove("/f")
    }
    #expect(disks.contains { $0.paths.isEmpty })
    #expect(disks.compactMap { $0.bytes(at: "/f") }.allSatisfy { $0.starts(with: "kept".utf8) })
    #expect(disks.count > 100)
  }

  @Test("If a write after an ordered sync is durable, all writes before the sync are durable")
  func barrier() throws {
    let start = SimulatedFileSystem()
    _ = try start.open("/f", .create)
    _ = try start.open("/g", .create)
    let disks = try remains(on: start.currentImage) { fileSystem in
      let f = try fileSystem.open("/f", .readWrite)
      try f.write(utf8: "ab", at: 0)
      try f.sync(.ordered)
      try fileSystem.open("/g", .readWrite).write(utf8: "x", at: 0)
    }
    #expect(disks.contains { $0.bytes(at: "/f") == [] && $0.bytes(at: "/g") == [] })
    #expect(disks.contains { $0.bytes(at: "/f") == Array("ab".utf8) && $0.bytes(at: "/g") == [] })
    #expect(disks.contains { $0.bytes(at: "/g") == Array("x".utf8) })
    for disk in disks where disk.bytes(at: "/g") != [] {
      #expect(disk.bytes(at: "/f") == Array("ab".utf8))
    }
  }

  @Test("A full sync after an ordered sync also makes the earlier bytes durable")
  func barrierSettled() throws {
    let start = SimulatedFileSystem()
    _ = try start.open("/f", .create)
    _ = try start.open("/g", .create)
    let disks = try remains(on: start.currentImage) { fileSystem in
      let f = try fileSystem.open("/f", .readWrite)
      try f.write(utf8: "ab", at: 0)
      try f.sync(.ordered)
      let g = try fileSystem.open("/g", .readWrite)
      try g.write(utf8: "x", at: 0)
      try g.sync(.full)
    }
    #expect(disks.count == 1)
    #expect(disks.first?.bytes(at: "/f") == Array("ab".utf8))
  }

  @Test("Writes that a failed sync dropped may be lost, even after a later successful sync")
  func forgotten() throws {
    let disks = try remains(on: try diskWithFile()) { fileSystem in
      let file = try fileSystem.open("/f", .readWrite)
      try file.write(utf8: "a", at: 0)
      fileSystem.inject(InjectedFailure(of: .sync, effect: .forgetsWrites))
      expectError(.mediaError) { try file.sync(.full) }
      try file.write(utf8: "b", at: 1)
      try file.sync(.full)
      #expect(try file.read(9, at: 0) == Array("ab".utf8))
    }
    #expect(Set(disks.compactMap { $0.bytes(at: "/f") }) == [[0, 0x62], [0x61, 0x62]])
  }

  @Test("An older write that a failed sync dropped does not replace a durable write")
  func forgottenOverwritten() throws {
    let disks = try remains(on: try diskWithFile()) { fileSystem in
      let file = try fileSystem.open("/f", .readWrite)
      try file.write(utf8: "a", at: 0)
      fileSystem.inject(InjectedFailure(of: .sync, effect: .forgetsWrites))
      expectError(.mediaError) { try file.sync(.full) }
      try file.write(utf8: "b", at: 0)
      try file.sync(.full)
    }
    #expect(disks.map { $0.bytes(at: "/f") } == [Array("b".utf8)])
  }

  @Test("Ignored syncs make nothing durable")
  func ignoredSyncs() throws {
    let fileSystem = SimulatedFileSystem(ignoresSync: true)
    let file = try fileSystem.open("/a", .create)
    try file.write(utf8: "x", at: 0)
    try file.sync(.full)
    try fileSystem.syncDirectory("/")
    let disks = explorer().images(of: fileSystem.journal, after: fileSystem.operationCount)
    #expect(disks.contains { $0.paths.isEmpty })
    #expect(disks.contains { $0.bytes(at: "/a") == [] })
  }

  @Test("A disk after a crash can be opened, and crash again")
  func again() throws {
    let first = try remains { fileSystem in
      let file = try fileSystem.open("/a", .create)
      try file.write(utf8: "x", at: 0)
      try fileSystem.syncDirectory("/")
    }
    for image in first {
      let second = try remains(on: image) { fileSystem in
        #expect(fileSystem.currentImage == image)
        let file = try fileSystem.open("/a", .readWrite)
        try file.write(utf8: "yy", at: 0)
      }
      #expect(second.contains(image))
      #expect(second.contains { $0.bytes(at: "/a") == Array("yy".utf8) })
    }
  }

  @Test("Damaging one file of an image leaves the other files unchanged")
  func damage() throws {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.createDirectory("/d")
    try fileSystem.open("/d/a", .create).write(utf8: "good", at: 0)
    try fileSystem.open("/d/b", .create).write(utf8: "good", at: 0)
    let sound = fileSystem.currentImage
    var damaged = sound
    let outcomes = ["/d/a", "/d/c", "/d"].map { damaged.setBytes(Array("bad".utf8), at: $0) }
    #expect(outcomes == [true, false, false])
    #expect(damaged.bytes(at: "/d/a") == Array("bad".utf8))
    #expect(damaged.bytes(at: "/d/b") == Array("good".utf8))
    #expect(damaged != sound && damaged.paths == sound.paths)
  }

  @Test("The same seed gives the same disks")
  func deterministic() throws {
    var explorer = explorer()
    explorer.imagesPerOperationMax = 20
    func run() throws -> [CrashImage] {
      try remains(explorer, on: try diskWithFile()) { fileSystem in
        let file = try fileSystem.open("/f", .readWrite)
        for index in 0..<40 { try file.write(filled(UInt8(index), 700), at: UInt64(index * 700)) }
      }
    }
    let disks = try run()
    #expect(try run() == disks)
    #expect(disks.count > 15)
    explorer.seed = 2
    #expect(try run() != disks)
  }
}

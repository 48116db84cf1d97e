import Foundation
import Perdure

@Entity final class Album: ManagedObject {
  @Attribute(.unique) var number: Int
  @Attribute(.indexed) var title: String
  var cover: Data?
  var story: String?
  @Relationship(inverse: "album", deleteRule: .cascade) var pages: OrderedToMany<Page>
  @Attribute(.indexed, derived: "pages.@count") private(set) var pageCount: Int
  @Attribute(.indexed, derived: "pages.words.@sum") private(set) var words: Int
}

@Entity final class Page: ManagedObject {
  @Attribute(.unique) var code: String
  @Attribute(.indexed) var words: Int
  @Relationship(inverse: "pages") var album: Album?
  @Relationship(inverse: "pages") var labels: ToMany<Label>
  @Attribute(derived: "album.title") private(set) var albumTitle: String?
}

@Entity final class Label: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "labels") var pages: ToMany<Page>
  @Attribute(derived: "pages.@count") private(set) var pageCount: Int
}

/// The content of an album. It depends only on the album's number and on whether a later save has
/// changed the album.
struct AlbumContent {
  let number: Int
  /// Whether the second save of the album has changed it.
  let isChanged: Bool

  static let pageCount = 100
  static let labelNames = ["red", "green", "blue", "black", "white"]
  private static let lengths = [0, 1 << 20, 100, 20 << 20, 5_000, 1 << 20]

  var title: String { isChanged ? "Album \(number), changed" : "Album \(number)" }

  var cover: Data { Data(bytes(Self.lengths[(number + (isChanged ? 2 : 0)) % Self.lengths.count])) }

  var story: String {
    let letters = bytes(Self.lengths[(number + (isChanged ? 3 : 1)) % Self.lengths.count], letters: true)
    return String(decoding: letters, as: UTF8.self)
  }

  /// The codes of the pages in order. Pages of the album three numbers later have the same codes.
  var codes: [String] {
    let odd = stride(from: Self.pageCount - 1, to: 0, by: -2)
    let codes = (Array(odd) + Array(stride(from: 0, to: Self.pageCount, by: 2))).map { code(of: $0) }
    return isChanged ? Array(codes.dropFirst()) + codes.prefix(1) : codes
  }

  func code(of page: Int) -> String { "\(number % 3)-\(page)" }
  func words(of page: Int) -> Int { number * 1000 + page }

  /// Bytes that are the same for each call. They repeat at a distance that is too large for the
  /// compression of the store.
  private func bytes(_ count: Int, letters: Bool = false) -> [UInt8] {
    var state = UInt64(number * 2 + (isChanged ? 1 : 0)) | 1 << 40
    let block = (0..<min(count, 99_991)).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return letters ? UInt8(state >> 33 % 26) + 97 : UInt8(truncatingIfNeeded: state >> 33)
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count { bytes += block.prefix(count - bytes.count) }
    return bytes
  }
}

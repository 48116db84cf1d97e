import PerdureLog
import PerdureProving

// The additional content of stores of the kind `sums`. It never changes, like `GoldenHistory`.

extension GoldenHistory {
  /// Defines the sums of ids by group, their order, and an index that is then removed.
  static func defineSums(in store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    try store.removeIndex(store.defineIndex(.slices("gone", rows, .value(offset: 16, length: 1))))
    let sums = try store.defineIndex(.sums("sums", rows))
    _ = try store.defineIndex(IndexDefinition(name: "order", source: .sumOrder(of: sums)))
  }

  /// The entries of a store's indexes. A key that is longer than eight bytes is represented by its
  /// last eight bytes.
  func entries(_ kind: GoldenStore.Kind) -> [String: Set<[UInt64]>] {
    guard kind == .sums else { return entries }
    var sums: [UInt64: (sum: Int128, count: Int)] = [:]
    for case (.row(let id), let value) in contents where value.count >= 16 {
      sums[id % 5, default: (0, 0)].sum += Int128(id)
      sums[id % 5, default: (0, 0)].count += 1
    }
    func folded(_ bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    var all = entries
    all["sums"] = Set(
      sums.map { group, sum in
        let key = [UInt8(group)] + CrashState.number(sum.sum) + CrashState.number(of: sum.count)
        return [folded(key), group]
      })
    all["order"] = Set(sums.map { [folded(CrashState.number($1.sum)), $0] })
    return all
  }
}

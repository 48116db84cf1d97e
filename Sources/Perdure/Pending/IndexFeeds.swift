// The indexes that change with a row, a link, an order key or another index. Computed when a
// context first needs a layer of its unsaved changes, and again when the schema of the store's rows
// changes.

internal import PerdurePredicates

/// The indexes that are derived from rows, links, order keys and other indexes. Confined to one
/// context.
final class IndexFeeds {
  /// The indexes that the rows of one entity feed.
  struct EntityFeed {
    var keys: [(index: StoreIndex, keys: IndexKeys)] = []
    var sums: [(index: StoreIndex, keys: IndexKeys)] = []
  }

  let schema: StoreSchema
  /// The indexes that the rows of each entity feed, by entity number. Computed at first use.
  private var entities: [EntityFeed?]
  /// By index of links: the index with the same links in the other direction.
  private(set) var reversed: [StoreIndex?]
  /// By index of order keys: this index, and the index that is sorted by them.
  private(set) var orders: [OrderIndexes?]
  /// For each counted index: the indexes that are sorted by its counts (`countOrder`). Empty for
  /// other indexes.
  private(set) var counting: [[StoreIndex]]

  init(_ schema: StoreSchema) {
    self.schema = schema
    entities = Array(repeating: nil, count: schema.entities.count)
    reversed = Array(repeating: nil, count: schema.indexes.count)
    orders = Array(repeating: nil, count: schema.indexes.count)
    counting = Array(repeating: [], count: schema.indexes.count)
    for (position, definition) in schema.indexes.enumerated() {
      let index = StoreIndex(rawValue: position)
      switch definition.kind {
      case .linksReversed(_, let links): reversed[links.rawValue] = index
      case .ordered(_, let keys): orders[keys.rawValue] = OrderIndexes(keys: keys, ordered: index)
      case .countOrder(_, let counted): counting[counted.rawValue].append(index)
      case .relation, .links, .orders, .attribute, .unique, .sums: break
      }
    }
  }

  subscript(entity: UInt16) -> EntityFeed {
    if let feed = entities[Int(entity)] { return feed }
    let storage = schema.entity(entity)
    var feed = EntityFeed()
    for (position, definition) in schema.indexes.enumerated() {
      guard let keys = IndexKeys(definition, entity: storage, in: schema) else { continue }
      let index = StoreIndex(rawValue: position)
      if case .sums = definition.kind {
        feed.sums.append((index, keys))
      } else {
        feed.keys.append((index, keys))
      }
    }
    entities[Int(entity)] = feed
    return feed
  }
}

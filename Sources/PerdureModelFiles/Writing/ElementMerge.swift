// Applies the changes of a model to a document. The changes are the differences between two trees
// of the same form: the model that the document describes, and the changed model. All other parts
// of the document are unchanged, even if their form differs from Xcode's.
//
//   ME1. An attribute of the document changes only if the two trees differ in it.
//   ME2. An element is removed or added only if one of the two trees lacks it.
//   ME3. Lists without names (constraints, the elements of an index) change as a whole.
//   ME4. The elements of a composite get the order of the changed tree. Their slots depend on it.

/// The changes from one tree to another.
struct ElementMerge {
  /// The key that identifies an element among its siblings.
  private struct Key: Hashable {
    let kind: String
    let name: String
  }

  private static func key(_ element: ModelElement, in parent: String) -> Key {
    // A fetched property has exactly one request, whose name may change. So its key has no name.
    if parent == "fetchedProperty" { return Key(kind: element.name, name: "") }
    return Key(kind: element.name, name: element["name"] ?? element["key"] ?? "")
  }

  /// The elements that change as a whole (ME3).
  private static let wholes: Set<String> = ["uniquenessConstraints", "fetchIndex"]

  /// Applies the changes from `base` to `changed` to an element of the document.
  static func apply(from base: ModelElement, to changed: ModelElement, _ element: inout ModelElement) {
    let names = base.attributes.map(\.name) + changed.attributes.map(\.name)
    for name in names where base[name] != changed[name] { element[name] = changed[name] }
    if base.name == "entity" { renewIndexes(from: base, to: changed, &element) }
    applyChildren(from: base, to: changed, &element)
    if base.name == "composite" {
      let order = changed.children.map { key($0, in: base.name) }
      element.orderChildren { order.firstIndex(of: key($0, in: base.name)) ?? order.count }
    }
  }

  private static func applyChildren(
    from base: ModelElement, to changed: ModelElement, _ element: inout ModelElement
  ) {
    func key(_ child: ModelElement) -> Key { Self.key(child, in: base.name) }
    let old = Dictionary(base.children.map { (key($0), $0) }, uniquingKeysWith: { first, _ in first })
    let new = Set(changed.children.map(key))
    let renamed = renamedKeys(changed, old, new)
    let removed = Set(old.keys).subtracting(new).subtracting(renamed.values)
    element.removeChildren { removed.contains(key($0)) }
    for child in changed.children {
      let oldKey = renamed[key(child)] ?? key(child)
      guard let before = old[oldKey] else {
        element.removeChildren { key($0) == key(child) }
        element.insert(child)
        continue
      }
      if before == child { continue }
      if wholes.contains(child.name) {
        element.removeChildren { key($0) == oldKey }
        element.insert(child)
      } else {
        element.updateChildren(where: { key($0) == oldKey }) { apply(from: before, to: child, &$0) }
      }
    }
  }

  /// The earlier key of each renamed element, by its new key. An element counts as renamed if its
  /// renaming identifier names an element that the changed tree lacks.
  private static func renamedKeys(
    _ changed: ModelElement, _ old: [Key: ModelElement], _ new: Set<Key>
  ) -> [Key: Key] {
    var renamed: [Key: Key] = [:]
    for child in changed.children {
      guard let identifier = child["elementID"], old[key(child, in: changed.name)] == nil else { continue }
      let earlier = Key(kind: child.name, name: identifier)
      if old[earlier] != nil, !new.contains(earlier) { renamed[key(child, in: changed.name)] = earlier }
    }
    return renamed
  }

  /// Replaces indexes of other forms by `fetchIndex` elements, if the indexes of an entity change.
  private static func renewIndexes(
    from base: ModelElement, to changed: ModelElement, _ element: inout ModelElement
  ) {
    let (old, new) = (base.children("fetchIndex"), changed.children("fetchIndex"))
    if old == new || element.children("fetchIndex").map({ $0["name"] }) == old.map({ $0["name"] }) { return }
    element.removeChildren { $0.name == "compoundIndexes" || $0.name == "fetchIndex" }
    element.updateChildren(where: { $0.name == "attribute" }) { $0["indexed"] = nil }
    for index in old { element.insert(index) }
  }
}

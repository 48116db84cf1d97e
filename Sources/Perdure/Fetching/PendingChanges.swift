// What a context has not saved, as a fetch sees it.

package import PerdurePredicates

/// Unsaved changes that lie over the rows of a view.
///
/// A fetch judges membership and order by the values in memory: changed and inserted objects are asked
/// themselves, their rows are not looked at. The window is cut out after that, so that limit and offset mean
/// the objects as the context shows them. (Core Data cuts the window from the saved rows first.)
package protocol PendingChanges {
  /// Whether an object is inserted, changed or deleted, so that its row must not be used. Called for every
  /// candidate: O(1).
  func isTouched(_ reference: ObjectReference) -> Bool

  /// Whether any object of a concrete entity is touched, its relationships included.
  func touches(entity: UInt16) -> Bool

  /// The inserted and the changed objects of a concrete entity that are not deleted, in any order.
  func changedObjects(of entity: UInt16) -> [ObjectReference]

  /// The touched objects of a concrete entity, deleted ones included, in any order.
  func touchedObjects(of entity: UInt16) -> [ObjectReference]

  /// An object as the context shows it, whether touched or not; the objects that it leads to are shown in the
  /// same way.
  func source(of reference: ObjectReference) -> any PropertySource
}

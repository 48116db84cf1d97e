// Containers whose model is a resource of the program. This is a separate module, because `Bundle`
// needs all of Foundation, and because the tool of the plugin does not need the database.

public import Foundation
public import Perdure

extension PersistentContainer {
  /// Makes a container whose model is `name.xcdatamodeld` in a bundle: its current version.
  ///
  ///     let container = try PersistentContainer(
  ///       name: "Staff", classes: [Company.self, Worker.self], bundle: .module)
  ///
  /// The package manager copies the file into `Bundle.module` if the target declares
  /// `resources: [.copy("Staff.xcdatamodeld")]`. `Bundle.main` has no resources on Linux. A program
  /// that uses the plugin `PerdureModelPlugin` has its model in code and needs no file.
  ///
  /// - Parameters:
  ///   - name: The name of the model, of the container and of the store.
  ///   - classes: The classes of the objects, as for `init(name:model:classes:at:)`.
  ///   - classesByEntityName: The classes of particular entities.
  ///   - bundle: The bundle with the file `name.xcdatamodeld` or `name.xcdatamodel`.
  ///   - description: The location of the store; nil for `name.perdure` in the default directory.
  ///     See ``PersistentContainer/defaultDirectoryURL()``.
  /// - Throws: `BundledModelError`, if the bundle has no such model, or the model has errors.
  /// - Complexity: O(n) for a model file of n bytes. Blocks the caller's thread.
  public convenience init(
    name: String, classes: [ManagedObject.Type] = [],
    classesByEntityName: [String: ManagedObject.Type] = [:], bundle: Bundle,
    description: PersistentStoreDescription? = nil
  ) throws(BundledModelError) {
    let model = try BundledModel.model(named: name, in: bundle)
    self.init(
      name: name, model: model, classes: classes, classesByEntityName: classesByEntityName,
      description: description ?? .inDefaultDirectory(named: name))
  }
}

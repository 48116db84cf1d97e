public import PerdureModel

extension ModelDocument {
  /// Makes a file that describes a model, as Xcode writes it: sorted by name, with the elements of
  /// composites in their order.
  ///
  /// A model that is read from the file equals `model`, except for the order of entities,
  /// properties and rules. Parts that Core Data does not have are in the user info of attributes,
  /// with keys that begin with `perdure.`. These are predicates of rules, defaults that are
  /// computed for each object, default bytes, and the absence of a value transformer. Some settings
  /// of fetch requests are XML attributes whose names begin with `perdure.`: the order, the offset,
  /// the paths to prefetch, and whether a fetched property is live. Xcode may remove these
  /// attributes.
  ///
  /// - Parameter file: The path of the file, for messages.
  /// - Throws: `ModelFileError` with all parts that a file cannot express, such as several version
  ///   identifiers, or several rules of the same kind for an attribute.
  /// - Complexity: O(n log n) for n entities and properties.
  public init(_ model: ManagedObjectModel, file: String = "contents") throws(ModelFileError) {
    self.init(root: try ElementMaker.root(of: model, file: file), file: file)
  }

  /// Changes the document so that it describes another model. Only the lines of changed parts
  /// change. Parts that a model cannot contain stay in the document: diagrams of remaining
  /// entities, settings of Core Data, comments and unknown elements.
  ///
  /// If the renaming identifier of an entity or property is a name in the document, the element
  /// with that name is renamed, and keeps such parts.
  ///
  /// - Throws: `ModelFileError` if the document does not describe a valid model, and in the same
  ///   cases as ``init(_:file:)``. The document is then unchanged.
  /// - Complexity: O(n log n) for n entities and properties, and O(n) for each changed one.
  public mutating func update(to model: ManagedObjectModel) throws(ModelFileError) {
    let names = ModelReader.read(self).compositeNames
    let base = try ElementMaker.root(of: managedObjectModel(), file: file, compositeNames: names)
    let changed = try ElementMaker.root(of: model, file: file, compositeNames: names)
    ElementMerge.apply(from: base, to: changed, &root)
    let removed = Set(base.children("entity").compactMap { $0["name"] })
      .subtracting(changed.children("entity").compactMap { $0["name"] })
    root.updateChildren(where: { $0.name == "elements" }) { diagram in
      diagram.removeChildren { $0["name"].map(removed.contains) == true }
    }
  }
}

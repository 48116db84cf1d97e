public import DebianIndexReading
public import Perdure

/// Imports packages into the graph, with one save for each batch.
///
/// Names, maintainers, sections and tags that were used are kept as objects of one long-lived
/// context. So a batch reads nothing from the store. Packages and dependencies are released after
/// each save.
public final class ArchiveImporter {
  private struct Key: Hashable {
    var name: String
    var version: String
    var architecture: String
  }

  private struct MaintainerKey: Hashable {
    var name: String
    var address: String
  }

  private let context: ManagedObjectContext
  private let packageNames: Set<String>
  private var known: Set<Key> = []
  private var names: [String: Name] = [:]
  private var maintainers: [MaintainerKey: Maintainer] = [:]
  private var sections: [String: Section] = [:]
  private var tags: [String: Tag] = [:]

  /// - Parameter packageNames: The names of all packages of the archive; every other name is
  ///   virtual.
  public init(_ container: PersistentContainer, packageNames: Set<String>) throws {
    context = container.newContext()
    self.packageNames = packageNames
    try remember()
  }

  /// Loads the state of an earlier import.
  private func remember() throws {
    for name in try context.fetch(FetchRequest<Name>()) { names[name.text] = name }
    for maintainer in try context.fetch(FetchRequest<Maintainer>()) {
      maintainers[MaintainerKey(name: maintainer.name, address: maintainer.address)] = maintainer
    }
    for section in try context.fetch(FetchRequest<Section>()) { sections[section.name] = section }
    for tag in try context.fetch(FetchRequest<Tag>()) { tags[tag.name] = tag }
    for package in try context.fetch(FetchRequest<Package>()) {
      known.insert(Key(name: package.name, version: package.version, architecture: package.architecture))
    }
  }

  /// The progress of the index with this label. Inserts it if the index was never imported.
  public func progress(ofIndex label: String) throws -> ImportedIndex {
    let request = FetchRequest<ImportedIndex> { $0.label == label }
    if let found = try context.fetch(request).first { return found }
    let index = ImportedIndex(context: context)
    index.label = label
    return index
  }

  /// Saves a batch completely or not at all. Packages that are already stored are skipped.
  ///
  /// - Parameter note: Makes further changes for the same save.
  /// - Throws: `PerdureError`. The batch can then be repeated.
  public func importBatch(_ records: [PackageRecord], note: () -> Void = {}) throws {
    for record in records { insert(record) }
    note()
    try context.save()
  }

  private func insert(_ record: PackageRecord) {
    let key = Key(name: record.name, version: record.version, architecture: record.architecture)
    guard known.insert(key).inserted else { return }
    let package = Package(context: context)
    package.name = record.name
    package.version = record.version
    package.architecture = record.architecture
    package.summary = record.summary
    package.source = record.source
    package.priority = record.priority
    package.homepage = record.homepage
    package.size = record.size.map(Int64.init)
    package.installedSize = record.installedSize.map(Int64.init)
    package.packageName = packageName(record.name)
    package.maintainer = record.maintainer.map(maintainer)
    package.section = record.section.map(section)
    for tag in record.tags { package.tags.insert(self.tag(tag)) }
    for dependency in record.dependencies { insert(dependency, of: package) }
  }

  private func insert(_ record: DebianIndexReading.Dependency, of package: Package) {
    let dependency = Dependency(context: context)
    dependency.kind = Int16(record.kind.rawValue)
    dependency.group = Int32(record.group)
    dependency.position = Int32(record.position)
    dependency.architecture = record.architecture
    dependency.relation = record.constraint?.relation.rawValue
    dependency.version = record.constraint?.version
    dependency.package = package
    if record.kind == .provides {
      dependency.provided = name(record.target)
    } else {
      dependency.target = name(record.target)
    }
  }

  private func name(_ text: String) -> Name {
    if let known = names[text] { return known }
    if packageNames.contains(text) { return packageName(text) }
    let name = VirtualName(context: context)
    name.text = text
    names[text] = name
    return name
  }

  /// The object for the name of a package. It replaces a virtual name that an earlier import made.
  private func packageName(_ text: String) -> PackageName {
    let known = names[text]
    if let known = known as? PackageName { return known }
    let name = PackageName(context: context)
    name.text = text
    names[text] = name
    if let known {
      name.dependents.insert(contentsOf: known.dependents)
      name.provisions.insert(contentsOf: known.provisions)
      context.delete(known)
    }
    return name
  }

  private func maintainer(_ record: DebianIndexReading.Maintainer) -> Maintainer {
    let key = MaintainerKey(name: record.name, address: record.address)
    if let known = maintainers[key] { return known }
    let maintainer = Maintainer(context: context)
    maintainer.name = key.name
    maintainer.address = key.address
    maintainers[key] = maintainer
    return maintainer
  }

  private func section(_ text: String) -> Section {
    if let known = sections[text] { return known }
    let section = Section(context: context)
    section.name = text
    sections[text] = section
    return section
  }

  private func tag(_ text: String) -> Tag {
    if let known = tags[text] { return known }
    let tag = Tag(context: context)
    tag.name = text
    tags[text] = tag
    return tag
  }
}

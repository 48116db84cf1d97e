import DebianIndexReading
public import Perdure

/// Queries on the archive as a graph. Each traverses objects in one context.
public struct ArchiveQuestions {
  let context: ManagedObjectContext

  /// Makes queries on the state that `context` sees.
  public init(_ context: ManagedObjectContext) { self.context = context }

  /// The package with this name; nil if the archive has none.
  public func packageName(_ text: String) throws -> PackageName? {
    try context.fetch(FetchRequest<PackageName> { $0.text == text }).first
  }

  /// The packages that require a package with this name. Each is in the result once.
  public func reverseDependencies(of text: String) throws -> Set<Package> {
    guard let name = try packageName(text) else { return [] }
    var found: Set<Package> = []
    for dependency in name.dependents where Self.isRequired(dependency.kind) {
      if let package = dependency.package { found.insert(package) }
    }
    return found
  }

  /// The packages that may be installed for this name: the packages that have or provide the name,
  /// and all packages that they may require. A package may require every package that has or
  /// provides a name in one of its dependencies. All alternatives are included. Versions are
  /// ignored.
  public func closure(of text: String) throws -> Set<Package> {
    guard let start = try packageName(text) else { return [] }
    var reached: Set<Package> = []
    var seen: Set<Name> = [start]
    var names: [Name] = [start]
    while let name = names.popLast() {
      for package in Self.candidates(for: name) where reached.insert(package).inserted {
        for dependency in package.dependencies where Self.isRequired(dependency.kind) {
          if let target = dependency.target, seen.insert(target).inserted { names.append(target) }
        }
      }
    }
    return reached
  }

  /// The packages with a name, and the packages that provide it.
  static func candidates(for name: Name) -> [Package] {
    var found: [Package] = []
    if let name = name as? PackageName { found.append(contentsOf: name.packages) }
    for provision in name.provisions {
      if let package = provision.package { found.append(package) }
    }
    return found
  }

  static func isRequired(_ kind: Int16) -> Bool {
    kind == Int16(DependencyKind.depends.rawValue) || kind == Int16(DependencyKind.preDepends.rawValue)
  }

  /// The maintainers with the most packages, from an index on the derived count.
  public func busiestMaintainers(_ count: Int) throws -> [Maintainer] {
    var request = Maintainer.fetchRequest()
    request.sortDescriptors = [FetchOrder(\Maintainer.packageCount, ascending: false)]
    request.fetchLimit = count
    return try context.fetch(request)
  }

  /// The packages whose summary contains a word, ignoring case and accents.
  public func packages(about word: String) throws -> [Package] {
    try context.fetch(
      FetchRequest<Package> { $0.summary.contains(word, [.caseInsensitive, .diacriticInsensitive]) })
  }
}

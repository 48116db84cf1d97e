public import Perdure

/// A name that packages can depend on: the name of a package, or a name that packages only provide.
@Entity(isAbstract: true)
public class Name: ManagedObject {
  /// The name itself.
  @Attribute(.unique) public var text: String
  /// The dependencies on this name, and the conflicts with it.
  @Relationship(inverse: "target") public var dependents: ToMany<Dependency>
  /// The packages that provide this name.
  @Relationship(inverse: "provided") public var provisions: ToMany<Dependency>
}

/// The name of a package in the archive.
@Entity
public final class PackageName: Name {
  /// The versions of the package.
  @Relationship(inverse: "packageName", deleteRule: .cascade) public var packages: ToMany<Package>
}

/// A name without a package in the archive.
@Entity
public final class VirtualName: Name {}

/// One version of a package for one architecture.
@Entity(unique: [["name", "version", "architecture"]])
public final class Package: ManagedObject {
  /// The text of the package's name.
  public var name: String
  /// The version; empty if the archive does not give one.
  public var version: String
  /// The architecture of the package, or `all`.
  public var architecture: String
  /// The first line of the description.
  public var summary: String?
  /// The source package from which the package was built.
  public var source: String?
  /// The importance of the package for a system.
  public var priority: String?
  /// The URL of the package's project.
  public var homepage: String?
  /// The size of the package's file in bytes; nil if the archive does not give it.
  public var size: Int64?
  /// The installed size in KiB; nil if the archive does not give it.
  public var installedSize: Int64?
  /// The name of the package, as an object.
  @Relationship(inverse: "packages", optional: false) public var packageName: PackageName?
  /// The maintainer of the package.
  @Relationship(inverse: "packages") public var maintainer: Maintainer?
  /// The section of the package.
  @Relationship(inverse: "packages") public var section: Section?
  /// The tags of the package.
  @Relationship(inverse: "packages") public var tags: ToMany<Tag>
  /// The dependencies of the package.
  @Relationship(inverse: "package", deleteRule: .cascade) public var dependencies: ToMany<Dependency>
}

/// One alternative of one clause of a package's dependencies.
@Entity
public final class Dependency: ManagedObject {
  /// A `DependencyKind`.
  public var kind: Int16
  /// The number of the clause. Its alternatives have the same number.
  public var group: Int32
  /// The position among the alternatives.
  public var position: Int32
  /// The part of the name after a colon.
  public var architecture: String?
  /// The required relation to `version`.
  public var relation: String?
  /// The version to compare with.
  public var version: String?
  /// The package that has the dependency.
  @Relationship(inverse: "dependencies", optional: false) public var package: Package?
  /// The name to which the dependency refers; nil for a provision.
  @Relationship(inverse: "dependents") public var target: Name?
  /// The name that the package provides; nil for all other kinds.
  @Relationship(inverse: "provisions") public var provided: Name?
}

/// A maintainer of packages.
@Entity(unique: [["name", "address"]])
public final class Maintainer: ManagedObject {
  /// The name, without quotes.
  public var name: String
  /// The mail address; empty if none is given.
  public var address: String
  /// The packages of the maintainer.
  @Relationship(inverse: "maintainer", deleteRule: .cascade) public var packages: ToMany<Package>
  /// The number of packages of the maintainer.
  @Attribute(.indexed, derived: "packages.@count") public var packageCount: Int64
}

/// A section of the archive, which contains packages.
@Entity
public final class Section: ManagedObject {
  /// The name of the section.
  @Attribute(.unique) public var name: String
  /// The packages of the section.
  @Relationship(inverse: "section") public var packages: ToMany<Package>
}

/// A tag of packages.
@Entity
public final class Tag: ManagedObject {
  /// The tag itself.
  @Attribute(.unique) public var name: String
  /// The packages with the tag.
  @Relationship(inverse: "tags") public var packages: ToMany<Package>
}

/// The progress of an index's import. It is saved with the packages, so it always matches them.
@Entity
public final class ImportedIndex: ManagedObject {
  /// Suite, component and architecture.
  @Attribute(.unique) public var label: String
  /// The number of stanzas that are stored or were skipped.
  public var stanzaCount: Int64
  /// Whether the whole index has been imported.
  public var isComplete: Bool
  /// The size of the index file. If it changes, the file is a different index.
  public var byteCount: Int64
}

/// The classes of the archive's model.
public let archiveClasses: [ManagedObject.Type] = [
  Name.self, PackageName.self, VirtualName.self, Package.self, Dependency.self, Maintainer.self, Section.self,
  Tag.self, ImportedIndex.self,
]

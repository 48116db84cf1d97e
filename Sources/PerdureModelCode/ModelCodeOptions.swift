/// How the properties of generated classes are written.
public enum ModelCodeStyle: String, Sendable, Hashable, CaseIterable {
  /// Computed properties and a description for each entity. They express every model.
  case accessors
  /// Stored properties of classes with `@Entity`. Some models have parts that macros cannot
  /// express; see ``ModelCodeProblem/Kind/notExpressible``.
  case macros
}

/// The code that is generated for an entity.
public enum EntityCode: String, Sendable, Hashable, CaseIterable {
  /// The whole class.
  case classDefinition = "class"
  /// An extension with the properties. The program declares the class.
  case categoryExtension = "extension"
  /// Only code with the names of the properties and the entity's description. The program declares
  /// the class and its properties.
  case manual
}

/// The types of attributes: exact ones, or those of Xcode.
public enum ModelCodeScalars: String, Sendable, Hashable, CaseIterable {
  /// The type is optional if the attribute is optional: nil is an absent value.
  case exact
  /// The type that the file specifies and that Xcode generates. A number, truth value or date with
  /// a scalar type is not optional: an absent value reads as 0 or false, and a program cannot set
  /// nil. A date has the type `TimeInterval`, its seconds since 2001. All other attributes are
  /// optional, even required ones. Only accessors can express this choice.
  case file
}

/// The access level of generated declarations.
public enum ModelCodeAccess: String, Sendable, Hashable, CaseIterable {
  /// Visible in the module.
  case `internal`
  /// Visible in the package.
  case package
  /// Visible everywhere. Other modules cannot inherit from the classes.
  case `public`
}

/// The choices for generated code.
public struct ModelCodeOptions: Sendable, Hashable {
  /// How the properties of classes are written.
  public var style = ModelCodeStyle.accessors
  /// The code for every entity; nil to follow ``ModelCodeHints/entityCode``.
  public var entityCode: EntityCode?
  /// The types of attributes.
  public var scalars = ModelCodeScalars.exact
  /// The access level of all declarations.
  public var access = ModelCodeAccess.internal
  /// The module of the generated code. Classes of other modules are not generated, but imported.
  /// Nil if all classes are in the module of the code.
  public var module: String?
  /// More modules to import, for example for the types of transformable attributes.
  public var imports: [String] = []
  /// Whether the names of entities and properties are declared as constants.
  public var hasNameConstants = true

  /// Makes the default choices.
  public init() {}
}

/// The hints of a model file for generated code. They are not a part of the model.
///
/// Properties are named by their entity and their name: `Person.photo`.
public struct ModelCodeHints: Sendable, Hashable {
  /// The code for an entity, by name. For other entities, the whole class is generated.
  public var entityCode: [String: EntityCode] = [:]
  /// The Swift types of transformable and undefined attributes, by property.
  public var attributeTypes: [String: String] = [:]
  /// The attributes with a scalar type, by property.
  public var scalarAttributes: Set<String> = []
  /// The names of the types of composite attributes, by the path of the attribute:
  /// `Person.address`, `Person.address.place`.
  public var compositeNames: [String: String] = [:]
  /// The lines of the model file, for problems; nil if the model does not come from a file.
  public var source: ModelCodeSource?

  /// Makes hints without content.
  public init() {}
}

/// The lines of the parts of a model in its file, from 1.
public struct ModelCodeSource: Sendable, Hashable {
  /// The path of the file.
  public var file: String
  /// The lines of entities, by name.
  public var entityLines: [String: Int] = [:]
  /// The lines of attributes, relationships and fetched properties, by entity and name:
  /// `Person.photo`.
  public var propertyLines: [String: Int] = [:]
  /// The lines of composites, by name.
  public var compositeLines: [String: Int] = [:]
  /// The lines of fetch request templates, by name.
  public var templateLines: [String: Int] = [:]

  /// Makes a source without lines.
  public init(file: String) { self.file = file }

  /// The line of a part, or of the entity that contains it.
  func line(of part: CodePart) -> Int? {
    switch part {
    case .model: nil
    case .entity(let name): entityLines[name]
    case .property(let name, let entity): propertyLines["\(entity).\(name)"] ?? entityLines[entity]
    case .composite(let name): compositeLines[name]
    case .template(let name): templateLines[name]
    }
  }
}

/// A generated file.
public struct GeneratedFile: Sendable, Hashable {
  /// The name of the file, without a folder.
  public let name: String
  /// The content, which ends with a newline.
  public let text: String
}

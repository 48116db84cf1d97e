/// Declares properties that several unrelated entities share. The class itself has no entity. Each
/// stored variable of the class becomes a property of the entity of each subclass.
///
///     @EntityBase class Record: ManagedObject {
///       @Attribute(.unique) var identifier: String
///       var created: Date = Date()
///     }
///
///     @Entity final class Book: Record { var title: String }
///     @Entity final class Author: Record { var name: String }
///
/// The entities `Book` and `Author` are not related. Each has the attributes `identifier` and
/// `created`, and its own index and constraint over identifiers. No fetch returns both; for that,
/// make the base an entity too: `@Entity(isAbstract: true)`.
///
/// Variables, custom accessors, hooks and validations are declared as in a class with `@Entity`. A
/// relationship has no inverse, because an inverse belongs to one entity. The superclass may have
/// `@Entity` or `@EntityBase`. The class need not be passed to a container.
@attached(
  member, names: named(_Slot), named(_addProperties), named(_propertyNamesByKeyPath), named(_lifeCycle),
  named(_validatedProperties), named(_validateProperty), named(_customAccessors), named(_customValue),
  named(_setCustomValue), arbitrary)
@attached(memberAttribute)
public macro EntityBase() = #externalMacro(module: "PerdureMacroPlugin", type: "EntityBaseMacro")

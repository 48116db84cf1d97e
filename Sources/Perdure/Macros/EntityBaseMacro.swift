/// Makes the stored variables of a class without an entity properties of the entities of its
/// subclasses: each entity has its own.
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
/// The variables are declared as in a class with `@Entity`, as are accessors of the program, hooks
/// and validations. A relationship has no inverse, because an inverse leads to one entity. The
/// class may be below a class with `@Entity`, or another one with `@EntityBase`. A container does
/// not need it.
@attached(
  member, names: named(_Slot), named(_addProperties), named(_propertyNamesByKeyPath), named(_lifeCycle),
  named(_validatedProperties), named(_validateProperty), named(_customAccessors), named(_customValue),
  named(_setCustomValue), arbitrary)
@attached(memberAttribute)
public macro EntityBase() = #externalMacro(module: "PerdureMacros", type: "EntityBaseMacro")

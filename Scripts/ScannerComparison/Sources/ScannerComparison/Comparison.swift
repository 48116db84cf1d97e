import SwiftSyntax

@testable import DeclarationScanning

/// Visits files, and compares the results of SwiftParser and of the scanner for each class, struct,
/// actor and enum, and for each member. The scanner gets the source with the whitespace and the
/// comments around it, as the plugin gets it from the compiler.
final class Comparison: SyntaxVisitor {
  private(set) var files = 0
  private(set) var types = 0
  private(set) var variables = 0
  private(set) var others = 0
  /// The number of types that are not well-formed for SwiftParser. The compiler never passes these
  /// to a plugin.
  private(set) var unreadable = 0
  private(set) var differences = 0
  private var file = ""
  private var places = SourceLocationConverter(fileName: "", tree: SourceFileSyntax(statements: []))

  var summary: String {
    "\(files) files, \(types) types, \(variables) variables, \(others) other members, "
      + "\(unreadable) types that SwiftParser does not accept, \(differences) differences"
  }

  init() { super.init(viewMode: .sourceAccurate) }

  func compare(_ tree: SourceFileSyntax, file: String) {
    files += 1
    self.file = file
    places = SourceLocationConverter(fileName: file, tree: tree)
    walk(tree)
  }

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    compare(node, node.classKeyword)
  }
  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind {
    compare(node, node.structKeyword)
  }
  override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind {
    compare(node, node.actorKeyword)
  }
  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { compare(node, node.enumKeyword) }

  private func compare(
    _ node: some DeclGroupSyntax & NamedDeclSyntax & WithGenericParametersSyntax, _ keyword: TokenSyntax
  ) -> SyntaxVisitorContinueKind {
    guard !node.hasError else {
      unreadable += 1
      return .visitChildren
    }
    types += 1
    let reading = ParserReading(of: node)
    report(
      Facts.of(reading.type(node, keyword)), Facts.of(DeclarationScanner.type(node.description)), node,
      node.name.text)
    for case .attribute(let attribute) in node.attributes {
      let source = attribute.description
      report(
        [Facts.of(ParserReading(of: attribute).attribute(attribute))],
        DeclarationScanner.attribute(source).map { [Facts.of($0)] } ?? ["nothing"], attribute, source)
    }
    compare(members: node.memberBlock.members)
    return .visitChildren
  }

  private func compare(members: MemberBlockItemListSyntax) {
    for member in members.map(\.decl) {
      if let conditions = member.as(IfConfigDeclSyntax.self) {
        for case .decls(let members)? in conditions.clauses.map(\.elements) { compare(members: members) }
        continue
      }
      let seen = DeclarationScanner.variable(member.description).map(Facts.of) ?? ["no variable"]
      if let variable = member.as(VariableDeclSyntax.self) {
        variables += 1
        let reading = ParserReading(of: variable)
        report(Facts.of(reading.variable(variable, isConditional: false)), seen, member, "a variable alone")
      } else {
        others += 1
        report(["no variable"], seen, member, "another member alone")
      }
    }
  }

  private func report(_ expected: [String], _ seen: [String], _ node: some SyntaxProtocol, _ name: String) {
    guard expected != seen else { return }
    differences += 1
    let line = places.location(for: node.positionAfterSkippingLeadingTrivia).line
    print("\(file):\(line): \(name)")
    for change in seen.difference(from: expected) {
      switch change {
      case .remove(_, let fact, _): print("  SwiftParser: \(fact.debugDescription)")
      case .insert(_, let fact, _): print("  the scanner: \(fact.debugDescription)")
      }
    }
  }
}

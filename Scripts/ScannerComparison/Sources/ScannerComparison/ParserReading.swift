import SwiftSyntax

@testable import DeclarationScanning

/// A declaration as SwiftParser reads it, in the terms of the scanner. Offsets count from the start
/// of the declaration that the compiler passes to the plugin.
struct ParserReading {
  private let start: Int
  private let source: [UInt8]

  init(of root: some SyntaxProtocol) {
    start = root.position.utf8Offset
    source = root.syntaxTextBytes
  }

  private func offset(_ position: AbsolutePosition) -> Int { position.utf8Offset - start }
  private func offset(_ node: some SyntaxProtocol) -> Int { offset(node.positionAfterSkippingLeadingTrivia) }

  func type(
    _ node: some DeclGroupSyntax & NamedDeclSyntax & WithGenericParametersSyntax, _ keyword: TokenSyntax
  ) -> DeclarationScanning.TypeSyntax {
    let members = members(node.memberBlock.members, isConditional: false)
    return DeclarationScanning.TypeSyntax(
      attributes: attributes(node.attributes), modifiers: modifiers(node.modifiers), keyword: keyword.text,
      keywordOffset: offset(keyword),
      name: Self.withoutBackticks(node.name.text), isGeneric: node.genericParameterClause != nil,
      inheritance: node.inheritanceClause?.inheritedTypes.map { Self.inherited($0.type) } ?? [],
      inheritanceOffset: node.inheritanceClause?.inheritedTypes.first.map { offset(Self.base($0.type)) },
      variables: members.variables, initializers: members.initializers,
      overriddenFunctions: members.overridden,
      // Validations and functions of templates are not compared: the scanner defines them, not the
      // grammar.
      validators: [], templateFunctions: [])
  }

  private static func inherited(_ type: SwiftSyntax.TypeSyntax) -> String {
    base(type).trimmedDescription
  }

  private static func base(_ type: SwiftSyntax.TypeSyntax) -> SwiftSyntax.TypeSyntax {
    type.as(AttributedTypeSyntax.self)?.baseType ?? type
  }

  private struct Members {
    var variables: [VariableSyntax] = []
    var initializers: [InitializerSyntax] = []
    var overridden: Set<String> = []
  }

  private func members(_ members: MemberBlockItemListSyntax, isConditional: Bool) -> Members {
    var result = Members()
    for member in members.map(\.decl) {
      if let variable = member.as(VariableDeclSyntax.self) {
        result.variables.append(self.variable(variable, isConditional: isConditional))
      } else if let made = member.as(InitializerDeclSyntax.self) {
        result.initializers.append(initializer(made))
      } else if let function = member.as(FunctionDeclSyntax.self) {
        let words = function.modifiers.map(\.name.text)
        if words.contains("override"), !words.contains("class"), !words.contains("static") {
          result.overridden.insert(Self.withoutBackticks(function.name.text))
        }
      } else if let conditions = member.as(IfConfigDeclSyntax.self) {
        for case .decls(let inner)? in conditions.clauses.map(\.elements) {
          let inner = self.members(inner, isConditional: true)
          result.variables += inner.variables
          result.initializers += inner.initializers
          result.overridden.formUnion(inner.overridden)
        }
      }
    }
    return result
  }

  private func initializer(_ node: InitializerDeclSyntax) -> InitializerSyntax {
    let first = node.signature.parameterClause.parameters.first
    return InitializerSyntax(
      modifiers: modifiers(node.modifiers),
      firstLabel: first.map { Self.withoutBackticks($0.firstName.text) }, offset: offset(node.initKeyword))
  }

  func variable(_ node: VariableDeclSyntax, isConditional: Bool) -> VariableSyntax {
    VariableSyntax(
      attributes: attributes(node.attributes), modifiers: modifiers(node.modifiers),
      isLet: node.bindingSpecifier.text == "let", bindings: node.bindings.map(binding),
      isConditional: isConditional, offset: offset(node))
  }

  private func binding(_ node: PatternBindingSyntax) -> BindingSyntax {
    let name = node.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
    return BindingSyntax(
      name: name.map(Self.withoutBackticks), spelling: name ?? "",
      type: node.typeAnnotation?.type.trimmedDescription,
      initializer: node.initializer?.value.trimmedDescription, accessors: accessors(node.accessorBlock),
      offset: offset(node))
  }

  private func accessors(_ block: AccessorBlockSyntax?) -> AccessorSyntax {
    guard let block else { return .none }
    guard case .accessors(let accessors) = block.accessors else { return .computed(isSettable: false) }
    if let observer = accessors.first(where: { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }) {
      return .observers(offset(observer.accessorSpecifier))
    }
    let names = Set(accessors.map(\.accessorSpecifier.text))
    return .computed(isSettable: names.isSuperset(of: ["get", "set"]))
  }

  func attributes(_ list: AttributeListSyntax) -> [DeclarationScanning.AttributeSyntax] {
    var result: [DeclarationScanning.AttributeSyntax] = []
    for element in list {
      if case .attribute(let node) = element { result.append(attribute(node)) }
      guard case .ifConfigDecl(let conditions) = element else { continue }
      for case .attributes(let inner)? in conditions.clauses.map(\.elements) {
        result += attributes(inner).map { Self.conditional($0) }
      }
    }
    return result
  }

  private static func conditional(
    _ attribute: DeclarationScanning.AttributeSyntax
  ) -> DeclarationScanning.AttributeSyntax {
    var attribute = attribute
    attribute.isConditional = true
    return attribute
  }

  func attribute(_ node: SwiftSyntax.AttributeSyntax) -> DeclarationScanning.AttributeSyntax {
    let name = node.attributeName
    var arguments: String?
    if let open = node.leftParen, let close = node.rightParen {
      let range = offset(open.endPositionBeforeTrailingTrivia)..<offset(close)
      arguments = String(decoding: source[range], as: UTF8.self)
    }
    return DeclarationScanning.AttributeSyntax(
      name: name.as(MemberTypeSyntax.self)?.name.text ?? name.as(IdentifierTypeSyntax.self)?.name.text
        ?? name.trimmedDescription,
      arguments: arguments, offset: offset(node))
  }

  private func modifiers(_ list: DeclModifierListSyntax) -> [String] { list.map(\.trimmedDescription) }

  private static func withoutBackticks(_ name: String) -> String {
    name.hasPrefix("`") && name.hasSuffix("`") && name.count > 2 ? String(name.dropFirst().dropLast()) : name
  }
}

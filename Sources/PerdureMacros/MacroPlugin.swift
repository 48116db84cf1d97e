/// The compiler plugin of Perdure's macros. It reads requests from its standard input and writes
/// replies to its standard output until the input ends.
///
/// It links only the standard library and PerdureText. It has three parts: Wire (the protocol),
/// Scanner (Swift source), and Expansion (the generated code). Expansion uses the other two.
package enum MacroPlugin {
  package static func run() {
    StandardStreams.prepare()
    var conversation = Conversation()
    let reader = MessageReader(read: StandardStreams.read)
    do throws(MessageError) {
      while let message = try reader.next() {
        guard let reply = conversation.answer(Request(message)) else {
          StandardStreams.fail(conversation.confusion)
        }
        guard StandardStreams.write(MessageReader.frame(reply.json)) else { return }
      }
    } catch {
      StandardStreams.fail(error.sentence)
    }
  }
}

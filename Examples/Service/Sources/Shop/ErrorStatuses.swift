import Hummingbird
import Logging
import Perdure

/// Answers errors of the database with an HTTP status. No route needs to catch them.
struct ErrorStatuses<Context: RequestContext>: RouterMiddleware {
  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as PerdureError {
      if error.status == .internalServerError { context.logger.error("\(error)") }
      throw HTTPError(error.status, message: error.answer)
    }
  }
}

extension PerdureError {
  /// The status of an error. If a request breaks a rule, the client must correct the request. If a
  /// request had too many conflicts, the client must repeat it.
  fileprivate var status: HTTPResponse.Status {
    if !details.isEmpty { return .badRequest }
    return isConflict ? .serviceUnavailable : .internalServerError
  }

  /// The message for the client. It contains the texts of broken rules. The texts of other errors
  /// are only in the log.
  fileprivate var answer: String {
    switch status {
    case .badRequest: details.map { "\($0.property) \($0.rule)" }.joined(separator: "; ")
    case .serviceUnavailable: "Too many requests change the same product. Try again."
    default: "The request failed. The log of the service has the reason."
    }
  }
}

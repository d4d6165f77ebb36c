// Fits the costs of a server to measured training speeds: least squares over predictions of the caller, by
// simulation for example. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/cost/server_cost.hpp"

namespace tandem {

/// A measured speed, and the load of the busiest server by each push of that job.
struct ServerFitRow {
  std::string model;
  double steps_per_second;  ///< of all workers together
  int tensors;
  Bytes bytes;  ///< of a push, without compression
};

struct ServerFit {
  ServerCost cost;                ///< push_rate equals reply_rate: a table of speeds cannot separate them
  std::vector<double> predicted;  ///< steps per second, by row
  double error = 0.0;             ///< root of the mean squared relative error of step times
  int predictions = 0;            ///< number of predictions, each of all rows
  /// The numbers that the table does not determine, in words.
  std::vector<std::string> warnings;
};

/// The speeds of all rows, for each of the costs.
using PredictSpeeds = std::function<std::vector<std::vector<double>>(const std::vector<ServerCost>&)>;

/// The costs with the least mean squared relative error of step times (Levenberg and Marquardt, with bounds
/// at 0), from further starts where the first one ends with an error above 5 %. Costs that the rows cannot distinguish from others are not fitted: with one model only the time
/// per message is, with two models one more. Pre: two rows or more, with speeds above 0.
ServerFit fit_server_cost(const std::vector<ServerFitRow>& rows, const PredictSpeeds& predict);

}  // namespace tandem

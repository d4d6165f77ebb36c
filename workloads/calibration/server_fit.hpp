// Fits the costs of a server to measured training speeds: least squares over predictions that the caller
// makes, by simulation for example. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/cost/server_cost.hpp"

namespace tandem {

/// A measured speed, and what the busiest server gets with each push of that job.
struct ServerFitRow {
  std::string model;
  double steps_per_second;  ///< of all workers together
  int tensors;
  Bytes bytes;  ///< of a push, without compression
};

struct ServerFit {
  ServerCost cost;                ///< push_rate and reply_rate are equal: a table of speeds cannot part them
  std::vector<double> predicted;  ///< steps per second, by row
  double error = 0.0;             ///< root of the mean squared relative error of step times
  int predictions = 0;            ///< that were made, each of all rows
  /// Which numbers the table does not determine, in words.
  std::vector<std::string> warnings;
};

/// The speeds of all rows, for each of the costs.
using PredictSpeeds = std::function<std::vector<std::vector<double>>(const std::vector<ServerCost>&)>;

/// The least mean squared relative error of step times (Levenberg and Marquardt, with bounds at 0). A number
/// that the rows do not distinguish from the others stays out: with one model only the time per message is
/// fitted, with two models another one. Pre: two rows or more, with speeds above 0.
ServerFit fit_server_cost(const std::vector<ServerFitRow>& rows, const PredictSpeeds& predict);

}  // namespace tandem

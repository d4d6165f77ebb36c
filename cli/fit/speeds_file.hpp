// Tables of measured training speeds by number of workers, to which the costs of a server are fitted.
#pragma once

#include <string>
#include <vector>

namespace tandem::cli {

struct SpeedsRow {
  int workers;
  std::string model;
  double steps_per_second;  ///< of all workers together
  std::string place;        ///< "FILE:LINE"
};

/// The rows of a CSV file with the columns workers, model and steps_per_second in any order; others are
/// ignored. Errors: ConfigError with the place: fewer than two rows, or rows of one number of workers; a
/// number of workers below 1; steps that are not above 0; the same model and workers twice.
std::vector<SpeedsRow> read_speeds_file(const std::string& path);

}  // namespace tandem::cli

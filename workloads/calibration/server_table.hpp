// Tables of measured training speeds by number of workers, from which the costs of a server are fitted.
#pragma once

#include <string>
#include <vector>

namespace tandem {

struct ServerTableRow {
  int workers;
  std::string model;
  double steps_per_second;  ///< of all workers together
  int line;                 ///< in the file
};

/// The rows of a CSV file with the columns workers, model and steps_per_second in any order; others, empty
/// lines and lines that begin with # are ignored. Errors: ConfigError with file and line: fewer than two
/// rows, or rows of one number of workers; a number of workers below 1; steps that are not above 0; the same
/// model and workers twice.
std::vector<ServerTableRow> read_server_table(const std::string& path);

}  // namespace tandem

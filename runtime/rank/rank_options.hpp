// The command line of tandem-rank.
#pragma once

#include <string>

namespace tandem {

struct RankOptions {
  std::string document;   ///< path of the job document
  std::string out;        ///< the result directory, made by whoever started the job
  int repetition = 0;     ///< kept in the results
  std::string command;    ///< what the user typed, kept in the results
  std::string calibrate;  ///< path of a profile to write instead of running the job; empty: run it
  bool links = false;     ///< `document` lists measurements of links to take; they go to the file `out`
  std::string
      cluster;  ///< what is to be known of the emulated cluster, as JSON, kept in the results; empty: none
  bool trace = false;
  bool operations = false;
  bool decisions = false;
};

/// Errors: ConfigError with the usage.
RankOptions parse_rank_options(int argc, char** argv);

}  // namespace tandem

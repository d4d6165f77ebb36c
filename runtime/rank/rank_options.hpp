// The command line of tandem-rank.
#pragma once

#include <string>

namespace tandem {

struct RankOptions {
  std::string document;    ///< path of the job document
  std::string out;         ///< the result directory
  std::string parts;       ///< name of the directories of machines that do not see `out`; empty: a new one
  bool apart = false;      ///< not even the machine of rank 0 sees `out`
  bool create = false;     ///< create that directory; otherwise it exists
  bool force = false;      ///< with `create`: replace its results
  std::string data;        ///< memory of `tandem` with the data set; empty: every rank reads the files
  int repetition = 0;      ///< recorded in the results
  std::string command;     ///< the user's command line, recorded in the results
  std::string calibrate;   ///< path of a profile to write instead of running the job; empty: run it
  std::string launched;    ///< with `calibrate`: when, in seconds since 1970; empty: unknown
  bool discovers = false;  ///< `document` is the text of a request of `tandem discover`
  bool links = false;      ///< `document` lists measurements of links; their results go to the file `out`
  std::string cluster;  ///< description of the emulated cluster as JSON, recorded in the results; empty: none
  bool trace = false;
  bool operations = false;
  bool decisions = false;
  bool requests = false;
  bool losses = false;
};

/// Errors: ConfigError with the usage.
RankOptions parse_rank_options(int argc, char** argv);

}  // namespace tandem

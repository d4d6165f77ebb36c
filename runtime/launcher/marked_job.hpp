// mpirun and every process of its job on this machine. A variable in the environment marks them, so that
// none survives the launcher.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem {

class MarkedJob {
 public:
  /// Starts mpirun in a process group of its own, without standard input. It gets SIGTERM if this thread
  /// ends. `mark`: see new_launch_mark. `blocked_signals`: those that it blocks. Errors: WorldError.
  MarkedJob(const std::vector<std::string>& words, std::string mark, const sigset_t& blocked_signals);
  /// Kills the remaining processes of the job.
  ~MarkedJob();
  MarkedJob(const MarkedJob&) = delete;
  MarkedJob& operator=(const MarkedJob&) = delete;

  Process& mpirun() { return mpirun_; }
  /// The read ends of the pipes from standard output and standard error; each may be taken once.
  Descriptor take_output() { return std::move(output_.read_end); }
  Descriptor take_errors() { return std::move(errors_.read_end); }
  /// Kills the process of a rank on this machine, and the processes that it started. False: there is none.
  bool kill_rank(int rank) const;
  /// Whether a process of this machine besides mpirun has the mark.
  bool has_ranks() const;
  /// Kills mpirun and every process of this machine that has the mark, and waits, at most four seconds, until
  /// they are gone.
  void kill_all();

 private:
  std::string mark_;
  Pipe output_;
  Pipe errors_;
  Process mpirun_;
};

}  // namespace tandem

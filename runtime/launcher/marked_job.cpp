#include "runtime/launcher/marked_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem {
namespace {

constexpr Seconds kill_limit{2.0};

Process start_mpirun(const Program& program) {
  try {
    return start_program(program);
  } catch (const ProgramMissing& error) {
    throw WorldError(fmt::format("{} (package openmpi-bin)", error.what()));
  }
}

}  // namespace

MarkedJob::MarkedJob(const std::vector<std::string>& words, std::string mark, const sigset_t& blocked_signals)
    : mark_(std::move(mark)),
      output_(make_pipe()),
      errors_(make_pipe()),
      mpirun_(start_mpirun({.words = words,
                            .environment = {mark_},
                            .output = output_.write_end.number(),
                            .errors = errors_.write_end.number(),
                            .own_group = true,
                            .signal_on_parent_end = SIGTERM,
                            .blocked_signals = blocked_signals})) {
  // The pipes end with the last process of the job.
  output_.write_end.close();
  errors_.write_end.close();
}

MarkedJob::~MarkedJob() { kill_all(); }

bool MarkedJob::kill_rank(int rank) const { return tandem::kill_rank(mark_, rank); }

bool MarkedJob::has_ranks() const {
  return std::ranges::any_of(processes_with_variable(mark_),
                             [this](pid_t process) { return process != mpirun_.id(); });
}

void MarkedJob::kill_all() {
  mpirun_.kill();
  mpirun_.wait_for(kill_limit);
  kill_until_none([this] { return processes_with_variable(mark_); }, kill_limit);
}

}  // namespace tandem

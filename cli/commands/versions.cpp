#include "cli/commands/versions.hpp"

#include <fmt/format.h>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/run_program.hpp"
#include "runtime/process/running_program.hpp"
#include "sim/physics.hpp"
#include "workloads/job/check/identity.hpp"

namespace tandem::cli {
namespace {

/// A program that does not answer is broken, for example because a library is missing.
constexpr Seconds answer_limit{20.0};

std::string versions_of_ranks() {
  try {
    const auto result =
        run_program({sibling_program("tandem-rank"), "--version"}, {.time_limit = answer_limit});
    if (result.status.succeeded()) return result.output;
    return "MPI, libtorch, CUDA: tandem-rank does not run: " + result.output;
  } catch (const WorldError& error) {
    return fmt::format("MPI, libtorch, CUDA: {}\n", error.what());
  }
}

}  // namespace

std::string versions_text() {
  std::string text = fmt::format("tandem {}\nbuild: {} ({}, compiler {})\n{}\n{}", TANDEM_VERSION,
                                 digest_of_file(running_program().string()), TANDEM_BUILD_TYPE, __VERSION__,
                                 sim::simulator_version(), versions_of_ranks());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace tandem::cli

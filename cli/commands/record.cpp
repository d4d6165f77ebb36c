// `tandem record`: the lines that a user adds to train.py, so that `tandem import` finds all that it needs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/shared/output.hpp"

namespace tandem::cli {
namespace {

constexpr const char* recording_lines = R"(from torch.profiler import ProfilerActivity, profile, schedule

def save(prof):
    prof.export_chrome_trace("trace.json.gz")

# The model in DistributedDataParallel, also on one GPU: that gives the gradient's buckets.
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=5, warmup=3, active=6),
             record_shapes=True, on_trace_ready=save) as prof:
    for batch in loader:
        train_step(batch)
        prof.step()
)";

}  // namespace

void add_record(CLI::App& app, int&) {
  auto* command = app.add_subcommand("record", "Print the lines for train.py that record a trace to import");
  command->footer(
      "The trace is written after 14 steps. Rank 0 is enough, all ranks of one host say more.\n"
      "Without a profiler, DDP's own figures say less (`tandem import` says what is missing), after 20 steps:\n"
      "  json.dump(model._get_ddp_logging_data(), open(\"ddp.json\", \"w\"))\n"
      "Example:\n"
      "  tandem record");
  command->callback([] {
    fmt::print("{}", recording_lines);
    print_document({{"lines", recording_lines}});
  });
}

}  // namespace tandem::cli

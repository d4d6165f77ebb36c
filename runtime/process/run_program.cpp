#include "runtime/process/run_program.hpp"

#include <unistd.h>

namespace tandem {

ProgramResult run_program(const std::vector<std::string>& words, const ProgramRun& run) {
  const Descriptor input = make_memory_file();
  const Descriptor output = make_memory_file();
  write_all(input.number(), run.input);
  lseek(input.number(), 0, SEEK_SET);
  Process process = start_program({.words = words,
                                   .input = input.number(),
                                   .output = output.number(),
                                   .errors = output.number(),
                                   .own_group = run.time_limit.has_value()});
  ProgramResult result;
  if (run.time_limit && !process.wait_for(*run.time_limit)) {
    process.kill();
    result.timed_out = true;
  }
  result.status = process.wait();
  result.output = read_file_from_start(output.number());
  return result;
}

}  // namespace tandem

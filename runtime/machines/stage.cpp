#include "runtime/machines/stage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/run_program.hpp"

namespace tandem::machines {
namespace {

namespace fs = std::filesystem;

constexpr const char* torch_library = "libtandem_torch.so";

/// The output of a script on a machine.
std::string output_of(const StageSetting& setting, const std::string& machine, const std::string& script) {
  const auto result = run_program(words_on(setting.shell, machine, {"sh", "-c", script}),
                                  {.input = {}, .time_limit = setting.limit});
  if (result.status.succeeded() && !result.timed_out) return result.output;
  throw WorldError(fmt::format("machine '{}': cannot copy the program to {}: {}", machine, setting.folder,
                               result.timed_out ? "no answer in time" : result.output));
}

/// The library with libtorch is in the folder of the program, or where an installation has it.
std::vector<fs::path> program_files(const fs::path& program) {
  const fs::path folder = program.parent_path();
  for (const auto& library :
       {folder / torch_library, folder.parent_path() / "lib" / "tandem" / torch_library})
    if (fs::exists(library)) return {program, library};
  return {program};
}

/// What ldd prints for the program and the library with libtorch, in a folder.
std::string ldd_line(const std::string& folder) {
  return fmt::format("for f in {}/*; do ldd \"$f\" || true; done", shell_word(folder));
}

void stage_on(const StageSetting& setting, const std::string& machine, const std::string& own_libraries) {
  const std::string target = setting.folder + '/' + setting.build;
  const std::string done = shell_word(target + "/tandem-rank");
  if (output_of(setting, machine, fmt::format("[ -x {} ] && echo there || true", done)).starts_with("there"))
    return;
  const fs::path program(setting.program);
  for (const fs::path& file : program_files(program))
    send_files(setting.shell, machine, file.parent_path().string(), {file.filename().string()},
               target + "/bin", setting.limit);
  for (const auto& name : missing_libraries(output_of(setting, machine, ldd_line(target + "/bin")))) {
    const fs::path path = library_path(own_libraries, name);
    if (path.empty())
      throw ConfigError(fmt::format("machine '{}' lacks {}, and so does this machine", machine, name));
    send_files(setting.shell, machine, path.parent_path().string(), {path.filename().string()},
               target + "/lib", setting.limit);
  }
  // Last, and by rename: its presence says that all is there.
  output_of(
      setting, machine,
      fmt::format("cd {0} && printf '%s\\n' '#!/bin/sh' {1} > tandem-rank.new && chmod +x tandem-rank.new "
                  "&& mv tandem-rank.new tandem-rank",
                  shell_word(target),
                  shell_word(fmt::format("LD_LIBRARY_PATH={0}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} "
                                         "exec {0}/bin/{1} \"$@\"",
                                         shell_word(target), program.filename().string()))));
}

}  // namespace

std::vector<std::string> missing_libraries(const std::string& ldd_output) {
  std::vector<std::string> names;
  std::istringstream lines(ldd_output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, arrow, what;
    if (words >> name >> arrow >> what && arrow == "=>" && what == "not" &&
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  return names;
}

std::string library_path(const std::string& ldd_output, const std::string& name) {
  std::istringstream lines(ldd_output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string found, arrow, path;
    if (words >> found >> arrow >> path && found == name && arrow == "=>" && path.starts_with('/'))
      return path;
  }
  return "";
}

std::string stage_program(const StageSetting& setting) {
  std::string own_libraries;
  for (const auto& file : program_files(setting.program))
    own_libraries += run_program({"ldd", file.string()}).output;
  std::vector<std::future<void>> copies;
  for (const auto& machine : setting.machines)
    copies.push_back(std::async(std::launch::async, [&setting, &own_libraries, machine] {
      stage_on(setting, machine, own_libraries);
    }));
  for (auto& copy : copies) copy.wait();
  for (auto& copy : copies) copy.get();
  return fmt::format("{}/{}/tandem-rank", setting.folder, setting.build);
}

}  // namespace tandem::machines

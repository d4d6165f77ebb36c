// Checks every source file of the tree against the layers (which folder may include which) and against rules
// that a machine can check. The checks are functions of a path and a text, and are themselves tested on wrong
// snippets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/paths.hpp"
#include "tests/tidy_exceptions.hpp"
#include "tests/tidy_layers.hpp"
#include "tests/tidy_sizes.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// Of sizes that tidy_exceptions.hpp does not list, and of those that it lists.
struct SizeLimit {
  std::string unit;
  std::size_t most;
  std::size_t most_of_listed;  ///< a row above it has the size itself
  const std::vector<SizeRow>& rows;
};

const SizeLimit& limit_of_functions() {
  static const SizeLimit limit = {"lines", 70, 70, long_functions()};
  return limit;
}

const SizeLimit& limit_of_classes() {
  static const SizeLimit limit = {"members", 40, 60, large_classes()};
  return limit;
}

// Standard headers that would give a policy access to its environment, or whose results differ between
// machines.
const Texts& worldly_headers() {
  static const Texts all = {"chrono",  "ctime",    "thread",         "mutex",      "shared_mutex",
                            "future",  "atomic",   "fstream",        "filesystem", "condition_variable",
                            "random",  "iostream", "stop_token",     "semaphore",  "latch",
                            "barrier", "csignal",  "memory_resource"};
  return all;
}

// ---- Helpers ----

bool begins_with_any(const std::string& text, const Texts& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const auto& beginning) { return text.starts_with(beginning); });
}

const Layer* layer_of(const std::string& path) {
  const Layer* best = nullptr;
  for (const auto& layer : layers())
    if (path.starts_with(layer.folder) && (best == nullptr || layer.folder.size() > best->folder.size()))
      best = &layer;
  return best;
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

/// Whether the parts stand at this place one after the other, with nothing but white space between them. A
/// part that begins or ends with a letter is a whole word there.
bool has_parts_at(std::string_view text, std::size_t at, const Texts& parts) {
  for (const auto& part : parts) {
    if (text.compare(at, part.size(), part) != 0) return false;
    const std::size_t end = at + part.size();
    if (is_of_word(part.front()) && at > 0 && is_of_word(text[at - 1])) return false;
    if (is_of_word(part.back()) && end < text.size() && is_of_word(text[end])) return false;
    at = skip_spaces(text, end);
  }
  return true;
}

/// Whether they stand anywhere, but not after one of the characters `but_after`.
bool has_parts(std::string_view text, const Texts& parts, std::string_view but_after = "") {
  for (auto at = text.find(parts.front()); at != std::string_view::npos;
       at = text.find(parts.front(), at + 1))
    if (has_parts_at(text, at, parts) && (at == 0 || but_after.find(text[at - 1]) == std::string_view::npos))
      return true;
  return false;
}

Texts lines_of(const std::string& text) {
  Texts lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_header(const std::string& path) { return path.ends_with(".hpp") || path.ends_with(".cuh"); }
bool is_source(const std::string& path) {
  return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cu");
}

bool is_literal_start(const std::string& text, std::size_t at) {
  if (text[at] == '"') return true;
  // An apostrophe inside a number separates digits.
  return text[at] == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0);
}

std::size_t end_of_literal(const std::string& text, std::size_t at) {
  if (text[at] == '"' && at > 0 && text[at - 1] == 'R') {
    const auto open = text.find('(', at);
    const std::string close = ')' + text.substr(at + 1, open - at - 1) + '"';
    return std::min(text.find(close, open), text.size() - close.size()) + close.size();
  }
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

/// The code alone: comments and the contents of literals become blanks; line numbers do not change.
std::string code_of(std::string text) {
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from)
      if (text[from] != '\n') text[from] = ' ';
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (text.compare(at, 2, "//") == 0)
      blank(at, end = std::min(text.find('\n', at), text.size()));
    else if (text.compare(at, 2, "/*") == 0)
      blank(at, end = std::min(text.find("*/", at), text.size() - 2) + 2);
    else if (is_literal_start(text, at))
      blank(at + 1, (end = end_of_literal(text, at)) - 1);
    at = end;
  }
  return text;
}

// ---- The checks ----

void check_own_include(const Layer& layer, const std::string& header, Texts& problems) {
  if (!begins_with_any(header, layer.own)) problems.push_back("may not include \"" + header + "\"");
}

void check_library_include(const Layer& layer, const std::string& path, const std::string& header,
                           Texts& problems) {
  const bool is_standard = header.find('/') == std::string::npos && !header.ends_with(".h");
  const bool is_policy = layer.folder.starts_with("policies/");
  const auto& worldly = worldly_headers();
  const bool sees_world = std::find(worldly.begin(), worldly.end(), header) != worldly.end();
  // A failed check must print a message before it aborts.
  const bool is_check = path == "policies/vocabulary/check.cpp";
  const bool prints = header == "cstdio" || header == "cstdlib";
  if (is_standard && is_policy && (sees_world || (prints && !is_check)))
    problems.push_back("a policy may not include <" + header + ">");
  else if (!is_standard && !begins_with_any(header, layer.libraries))
    problems.push_back("may not include <" + header + ">");
}

/// What a line includes, with the quotation mark or bracket before it.
std::optional<std::string> included_by(std::string_view line) {
  std::size_t at = skip_spaces(line, 0);
  for (const std::string_view part : {"#", "include"}) {
    if (line.compare(at, part.size(), part) != 0) return std::nullopt;
    at = skip_spaces(line, at + part.size());
  }
  if (at == line.size() || (line[at] != '<' && line[at] != '"')) return std::nullopt;
  const auto end = line.find_first_of(">\"", at + 1);
  if (end == std::string_view::npos || end == at + 1) return std::nullopt;
  return std::string(line.substr(at, end - at));
}

void check_includes(const std::string& path, const std::string& text, Texts& problems) {
  const Layer* layer = layer_of(path);
  if (layer == nullptr) {
    if (!path.starts_with("tests/")) problems.push_back("is in a folder that no layer allows");
    return;
  }
  for (const auto& line : lines_of(text)) {
    const auto included = included_by(line);
    if (!included) continue;
    const std::string header = included->substr(1);
    if (included->front() == '"')
      check_own_include(*layer, header, problems);
    else
      check_library_include(*layer, path, header, problems);
  }
}

bool starts_processes(const std::string& code) {
  for (const char* name : {"fork", "vfork", "posix_spawn", "posix_spawnp", "popen", "system", "waitpid",
                           "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"})
    if (has_parts(code, {name, "("}, ".>")) return true;
  return false;
}

bool compiles_conditionally(const std::string& code) {
  for (const char* directive : {"if", "ifdef", "ifndef", "elif"})
    if (has_parts(code, {"#", directive})) return true;
  return false;
}

void check_words(const std::string& path, const std::string& text, const std::string& code, Texts& problems) {
  const Texts reminders = {
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X"};
  if (std::ranges::any_of(reminders, [&](const auto& word) { return has_parts(text, {word}); }))
    problems.push_back("leaves something to be done in a comment");
  // Tests may start processes in order to kill them.
  const bool may_fork = path == "platforms/child_process.cpp" || path == "runtime/process/process.cpp" ||
                        path.starts_with("tests/");
  if (!may_fork && starts_processes(code))
    problems.push_back("may not start a process itself: runtime/process and platforms/child_process do");
  const bool is_role = path.starts_with("workloads/roles/");
  if (is_role && has_parts(code, {"catch", "(", "...", ")"}))
    problems.push_back("a role may not catch everything");
  if ((is_role || path.starts_with("policies/")) && compiles_conditionally(code))
    problems.push_back("may not know which world it is in: no conditional compilation here");
  if (has_parts(code, {"is_simulated"})) problems.push_back("may not ask which world it is in");
  if (is_header(path) && has_parts(code, {"using", "namespace"}))
    problems.push_back("a header may not say 'using namespace'");
  if (is_header(path) && !has_parts('\n' + code, {"\n#pragma once"}))
    problems.push_back("a header needs '#pragma once'");
}

/// A row that allows more than is needed is a problem too, so that rows only fall.
void check_size(const std::string& path, const Sized& found, const SizeLimit& limit, Texts& problems) {
  const auto row = std::ranges::find_if(
      limit.rows, [&](const SizeRow& one) { return path == one.path && found.name == one.name; });
  const bool is_listed = row != limit.rows.end();
  const std::size_t most = is_listed ? row->most : limit.most;
  const std::string has =
      found.name + ": has " + std::to_string(found.size) + ' ' + limit.unit + ", expected ";
  if (found.size > most)
    problems.push_back(has + "at most " + std::to_string(most));
  else if (is_listed && found.size <= limit.most)
    problems.push_back(has + "no row in tests/tidy_exceptions.hpp");
  else if (is_listed && most != std::max(found.size, limit.most_of_listed))
    problems.push_back(has + std::to_string(std::max(found.size, limit.most_of_listed)) +
                       " in its row of tests/tidy_exceptions.hpp");
}

void check_sizes(const std::string& path, const std::string& text, const std::string& code, Texts& problems) {
  for (const Sized& found : functions_of(lines_of(text), lines_of(code)))
    check_size(path, found, limit_of_functions(), problems);
  for (const Sized& found : classes_of(code)) check_size(path, found, limit_of_classes(), problems);
}

/// All problems of one file. `has_header`: there is a header of the same name, whose comment counts for both
/// files.
Texts problems_of(const std::string& path, const std::string& text, bool has_header) {
  Texts problems;
  if (!text.starts_with("//") && !has_header) problems.push_back("does not open by saying what it is");
  const std::string code = code_of(text);
  check_includes(path, text, problems);
  check_words(path, text, code, problems);
  check_sizes(path, text, code, problems);
  return problems;
}

Texts problems_of_build_file(const std::string& text) {
  Texts problems;
  if (has_parts(text, {"file", "(", "GLOB"}) || has_parts(text, {"file", "(", "GLOB_RECURSE"}))
    problems.push_back("collects files by pattern");
  return problems;
}

// ---- Pages ----

/// As browsers name the place of a heading: lower case, hyphens for spaces, no other marks.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading.substr(std::min(heading.size(), heading.find_first_not_of("# "))))
    if (is_of_word(c) || c == '-')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      anchor += '-';
  return anchor;
}

/// The lines outside of blocks of code.
Texts prose_of(const std::string& page) {
  Texts prose;
  bool is_code = false;
  for (const auto& line : lines_of(page)) {
    const bool is_fence = line.starts_with("```");
    if (!is_code && !is_fence) prose.push_back(line);
    if (is_fence) is_code = !is_code;
  }
  return prose;
}

/// Links to places of the tree: "../a.md#part", "a.hpp", "#part".
Texts links_of(const std::string& page) {
  Texts links;
  for (const auto& line : prose_of(page))
    for (auto at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
      const std::string link = line.substr(at + 2, line.find(')', at) - at - 2);
      if (link.find("://") == std::string::npos) links.push_back(link);
    }
  return links;
}

bool has_anchor(const std::string& page, const std::string& anchor) {
  const Texts prose = prose_of(page);
  return std::ranges::any_of(
      prose, [&](const auto& line) { return line.starts_with("#") && anchor_of(line) == anchor; });
}

// ---- The tree ----

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return rest_of(file);
}

struct Tree {
  Texts sources;
  Texts build_files;
  Texts pages;
};

Tree tree() {
  const fs::path root = testing::source_folder();
  Tree found;
  for (const char* folder :
       {"policies", "platforms", "workloads", "sim", "runtime", "validation", "cli", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).string();
      if (is_source(path)) found.sources.push_back(path);
      if (path.ends_with("CMakeLists.txt")) found.build_files.push_back(path);
      if (path.ends_with(".md")) found.pages.push_back(path);
    }
  }
  found.build_files.push_back("CMakeLists.txt");
  found.pages.push_back("README.md");
  return found;
}

TEST(Tidy, EverySourceFile) {
  const fs::path root = testing::source_folder();
  const auto sources = tree().sources;
  EXPECT_GT(sources.size(), 50U) << "the tree was not found";
  for (const auto& path : sources) {
    const bool has_header =
        path.ends_with(".cpp") && fs::exists(root / fs::path(path).replace_extension(".hpp"));
    for (const auto& problem : problems_of(path, read(root / path), has_header))
      ADD_FAILURE() << path << ": " << problem;
  }
}

bool names_one_of(const SizeRow& row, const std::vector<Sized>& sizes) {
  return std::ranges::find(sizes, row.name, &Sized::name) != sizes.end();
}

TEST(Tidy, EveryExceptionIsNeeded) {
  const fs::path root = testing::source_folder();
  for (const SizeRow& row : large_classes())
    EXPECT_TRUE(names_one_of(row, classes_of(code_of(read(root / row.path))))) << row.path << ' ' << row.name;
  for (const SizeRow& row : long_functions()) {
    const std::string text = read(root / row.path);
    EXPECT_TRUE(names_one_of(row, functions_of(lines_of(text), lines_of(code_of(text)))))
        << row.path << ' ' << row.name;
  }
}

TEST(Tidy, EveryBuildFile) {
  const fs::path root = testing::source_folder();
  for (const auto& path : tree().build_files) {
    // tandem_test_files takes all tests of a folder, so that none is forgotten.
    if (path == "tests/CMakeLists.txt") continue;
    for (const auto& problem : problems_of_build_file(read(root / path)))
      ADD_FAILURE() << path << ": " << problem;
  }
}

TEST(Tidy, EveryLinkOfEveryPageLeadsSomewhere) {
  const fs::path root = testing::source_folder();
  const auto pages = tree().pages;
  EXPECT_GT(pages.size(), 20U);
  for (const auto& page : pages)
    for (const auto& link : links_of(read(root / page))) {
      const auto mark = std::min(link.find('#'), link.size());
      const fs::path target = mark == 0 ? root / page : (root / page).parent_path() / link.substr(0, mark);
      if (!fs::exists(target))
        ADD_FAILURE() << page << ": no file " << link;
      else if (mark < link.size() && !has_anchor(read(target), link.substr(mark + 1)))
        ADD_FAILURE() << page << ": no heading " << link;
    }
}

TEST(Tidy, TheFirstPageIsShort) {
  EXPECT_LE(lines_of(read(fs::path(testing::source_folder()) / "README.md")).size(), 150U);
}

// ---- Tests of the checks ----

Texts snippet(const std::string& path, const std::string& text) {
  const std::string head = is_header(path) ? "// What.\n#pragma once\n" : "// What.\n";
  return problems_of(path, head + text, false);
}

std::string include(const std::string& what) { return "#include " + what + "\n"; }

struct Inclusion {
  std::string path;
  std::string header;
};

TEST(TidyChecks, ForbiddenIncludes) {
  const std::vector<Inclusion> forbidden = {
      {"policies/sync/a.cpp", "\"workloads/context.hpp\""},
      {"policies/sync/a.cpp", "<chrono>"},
      {"policies/sync/a.cpp", "<thread>"},
      {"policies/sync/a.cpp", "<fstream>"},
      {"policies/sync/a.cpp", "<random>"},
      {"policies/sync/a.cpp", "<cstdio>"},
      {"policies/sync/a.cpp", "<fmt/format.h>"},
      {"policies/sync/a.cpp", "<unistd.h>"},
      {"platforms/load.cpp", "\"policies/sync/policy.hpp\""},
      {"platforms/load.cpp", "<mpi.h>"},
      {"platforms/load.cpp", "\"workloads/job/plan/job.hpp\""},
      {"platforms/description.cpp", "<simgrid/s4u.hpp>"},
      {"platforms/description.hpp", "<boost/graph/adjacency_list.hpp>"},
      {"workloads/job/plan/job.cpp", "<simgrid/s4u.hpp>"},
      {"workloads/job/plan/job.cpp", "<mpi.h>"},
      {"workloads/job/plan/job.cpp", "<torch/torch.h>"},
      {"workloads/job/plan/job.cpp", "\"sim/sim_context.hpp\""},
      {"workloads/job/plan/job.cpp", "\"runtime/mpi/mpi_context.hpp\""},
      {"workloads/job/plan/job.cpp", "\"platforms/load.hpp\""},
      {"workloads/roles/worker.cpp", "<cuda_runtime.h>"},
      {"workloads/roles/worker.cpp", "<torch/torch.h>"},
      {"workloads/learner/torch_learner.cpp", "<mpi.h>"},
      {"sim/a.cpp", "<mpi.h>"},
      {"sim/a.cpp", "\"runtime/mpi/wire.hpp\""},
      {"runtime/mpi/a.cpp", "<simgrid/s4u.hpp>"},
      {"runtime/mpi/a.cpp", "\"sim/physics.hpp\""},
      {"runtime/mpi/a.cpp", "\"platforms/load.hpp\""},
      {"validation/compare/a.cpp", "\"sim/simulation.hpp\""},
      {"validation/compare/a.cpp", "\"runtime/mpi/wire.hpp\""},
      {"validation/compare/a.cpp", "<simgrid/s4u.hpp>"},
      {"validation/compare/a.cpp", "<mpi.h>"},
      {"cli/jobs/a.cpp", "<mpi.h>"},
      {"cli/commands/a.cpp", "\"runtime/mpi/mpi_context.hpp\""},
      // Sub-folders may include only lower layers.
      {"policies/sync/rounds/a.cpp", "\"policies/sync/local_steps/esync.hpp\""},
      {"policies/sync/common/a.cpp", "\"policies/sync/rounds/bsp.hpp\""},
      {"policies/cache/a.cpp", "\"policies/sync/policy.hpp\""},
      {"policies/lifetimes/a.cpp", "<boost/math/distributions/normal.hpp>"},
      {"policies/checkpointing/a.cpp", "\"policies/sync/policy.hpp\""},
      {"policies/checkpointing/a.cpp", "<boost/math/special_functions/lambert_w.hpp>"},
      {"policies/recovery/a.cpp", "\"policies/lifetimes/fates.hpp\""},
      {"policies/provisioning/a.cpp", "\"policies/recovery/policy.hpp\""},
      {"workloads/context.hpp", "\"workloads/job/plan/job.hpp\""},
      {"workloads/experiment/a.cpp", "\"workloads/job/check/catalogues.hpp\""},
      {"workloads/data/a.cpp", "\"workloads/job/plan/job.hpp\""},
      {"workloads/model/a.cpp", "\"workloads/learner/learner.hpp\""},
      {"workloads/job/plan/a.cpp", "\"workloads/roles/worker.hpp\""},
      {"workloads/job/placement/a.cpp", "\"workloads/job/plan/job.hpp\""},
      {"workloads/job/plan/a.cpp", "\"workloads/job/check/limits.hpp\""},
      {"workloads/exchange/a.cpp", "\"workloads/job/check/limits.hpp\""},
      {"cli/shared/a.cpp", "\"cli/jobs/resume.hpp\""},
      {"cli/jobs/a.cpp", "\"cli/commands/commands.hpp\""},
      {"workloads/exchange/a.cpp", "\"workloads/roles/worker.hpp\""},
      {"runtime/gpu/a.cpp", "\"runtime/mpi/mpi_check.hpp\""},
      {"runtime/gpu/a.cpp", "<mpi.h>"},
      {"runtime/process/a.cpp", "\"runtime/launcher/launcher.hpp\""},
      {"runtime/process/a.cpp", "<boost/process.hpp>"},
      {"runtime/mpi/a.cpp", "\"runtime/rank/rank_options.hpp\""},
      {"runtime/launcher/a.cpp", "\"runtime/cluster/plan.hpp\""},
      {"validation/compare/a.cpp", "\"validation/report/report.hpp\""}};
  for (const auto& [path, header] : forbidden)
    EXPECT_EQ(snippet(path, include(header)).size(), 1U) << path << ' ' << header;
}

TEST(TidyChecks, AllowedIncludes) {
  const std::vector<Inclusion> allowed = {{"policies/sync/a.cpp", "\"policies/vocabulary/units.hpp\""},
                                          {"policies/sync/a.cpp", "<vector>"},
                                          {"policies/vocabulary/check.cpp", "<cstdio>"},
                                          {"platforms/load.cpp", "<simgrid/s4u/Host.hpp>"},
                                          {"workloads/job/plan/job.cpp", "\"platforms/description.hpp\""},
                                          {"workloads/job/plan/job.cpp", "<chrono>"},
                                          {"workloads/learner/torch_learner.cpp", "<torch/nn.h>"},
                                          {"sim/a.cpp", "\"workloads/context.hpp\""},
                                          {"runtime/mpi/a.cpp", "<mpi.h>"},
                                          {"validation/compare/a.cpp", "\"policies/sync/policy.hpp\""},
                                          {"validation/report/a.cpp", "\"validation/compare/compare.hpp\""},
                                          {"workloads/roles/a.cpp", "\"workloads/exchange/replica.hpp\""},
                                          {"cli/commands/a.cpp", "\"runtime/launcher/launcher.hpp\""},
                                          {"tests/sim/a.cpp", "<simgrid/s4u.hpp>"}};
  for (const auto& [path, header] : allowed)
    EXPECT_EQ(snippet(path, include(header)), Texts()) << path << ' ' << header;
}

TEST(TidyChecks, EveryFolderHasALayer) {
  EXPECT_EQ(snippet("cli/a.cpp", ""), Texts{"is in a folder that no layer allows"});
  EXPECT_EQ(snippet("workloads/job/a.cpp", ""), Texts{"is in a folder that no layer allows"});
  EXPECT_EQ(snippet("tests/cli/a.cpp", ""), Texts());
}

TEST(TidyChecks, Words) {
  const std::string undone =
      "// TO"
      "DO: later\n";
  EXPECT_EQ(snippet("cli/jobs/a.cpp", undone), Texts{"leaves something to be done in a comment"});
  EXPECT_EQ(snippet("workloads/roles/a.cpp", "void f() try {} catch ( ... ) {}\n"),
            Texts{"a role may not catch everything"});
  EXPECT_EQ(snippet("runtime/mpi/a.cpp", "void f() try {} catch (...) {}\n"), Texts());
  const Texts world = {"may not know which world it is in: no conditional compilation here"};
  EXPECT_EQ(snippet("workloads/roles/a.cpp", "#ifdef SIM\n#endif\n"), world);
  EXPECT_EQ(snippet("policies/sync/a.hpp", "  # if SIM\n#endif\n"), world);
  EXPECT_EQ(snippet("runtime/mpi/a.cpp", "#ifdef CUDA\n#endif\n"), Texts());
  EXPECT_EQ(snippet("sim/a.cpp", "if (is_simulated()) return;\n"), Texts{"may not ask which world it is in"});
  EXPECT_EQ(snippet("sim/a.hpp", "using  namespace std;\n"), Texts{"a header may not say 'using namespace'"});
  EXPECT_EQ(snippet("sim/a.cpp", "int was_is_simulated;\n"), Texts());
  EXPECT_EQ(snippet("sim/a.cpp", "using namespace std;\n"), Texts());
}

TEST(TidyChecks, Processes) {
  const Texts refused = {"may not start a process itself: runtime/process and platforms/child_process do"};
  for (const char* call : {"fork()", "::fork()", "vfork ()", "posix_spawnp(a)", "std::system(a)", "popen(a)",
                           "waitpid(a)", "execvp(a)", "execl(a)"})
    EXPECT_EQ(snippet("sim/a.cpp", std::string("int a = ") + call + ";\n"), refused) << call;
  EXPECT_EQ(snippet("runtime/process/process.cpp", "int a = fork();\n"), Texts());
  EXPECT_EQ(snippet("tests/sim/a.cpp", "int a = fork();\n"), Texts());
  EXPECT_EQ(snippet("cli/jobs/a.cpp", "int file_system(int);\nint a = b.system();\nint c = d->fork();\n"),
            Texts());
  EXPECT_EQ(snippet("cli/jobs/a.cpp", "int fork_all(int);\nint system = 1;\n"), Texts());
}

TEST(TidyChecks, CommentsAndLiteralsAreIgnored) {
  EXPECT_EQ(snippet("workloads/roles/a.cpp", "// no catch (...) here\n/* nor\n#ifdef here */\n"), Texts());
  EXPECT_EQ(
      snippet("sim/a.hpp", "auto a = \"using namespace\"; auto b = R\"x(\n#if\nusing namespace )x\";\n"),
      Texts());
  EXPECT_EQ(code_of("a 1'000 \"b\\\"c\" 'd' // e\nf"), "a 1'000 \"    \" ' '     \nf");
}

TEST(TidyChecks, OpeningsAndGuards) {
  EXPECT_EQ(problems_of("sim/a.cpp", "int a;\n", false), Texts{"does not open by saying what it is"});
  EXPECT_EQ(problems_of("sim/a.cpp", "int a;\n", true), Texts());
  EXPECT_EQ(problems_of("sim/a.hpp", "// What.\nint a;\n", false), Texts{"a header needs '#pragma once'"});
}

std::string function_of(std::size_t lines, const std::string& indent) {
  std::string text = indent + "void long_one(int a,\n" + indent + "              int b) {\n";
  for (std::size_t line = 3; line < lines; ++line) text += indent + "  a = b;\n";
  return text + indent + "}\n";
}

TEST(TidyChecks, Lengths) {
  EXPECT_EQ(snippet("sim/a.cpp", function_of(70, "")), Texts());
  EXPECT_EQ(snippet("sim/a.cpp", "int a;\n\n" + function_of(71, "")),
            Texts{"void long_one(int a,: has 71 lines, expected at most 70"});
  // A long class or namespace is not a long function.
  EXPECT_EQ(snippet("sim/a.cpp", "struct A {\n" + function_of(70, "  ") + function_of(70, "  ") + "};\n"),
            Texts());
  EXPECT_EQ(snippet("sim/a.cpp", "struct A {\n" + function_of(71, "  ") + "};\n"),
            Texts{"void long_one(int a,: has 71 lines, expected at most 70"});
  EXPECT_EQ(snippet("sim/a.cpp", "namespace a {\n" + std::string(100, '\n') + "}  // namespace a\n"),
            Texts());
}

/// "name members", of each class.
Texts members_in(const std::string& text) {
  Texts found;
  for (const Sized& one : classes_of(code_of(text)))
    found.push_back(one.name + ' ' + std::to_string(one.size));
  return found;
}

TEST(TidyChecks, Members) {
  EXPECT_EQ(members_in("struct A {\n  int a, b = 1;\n  std::map<int, int> c{{1, 2}};  // int d;\n};\n"),
            Texts{"A 3"});
  EXPECT_EQ(members_in("class A : public B {\n public:\n  explicit A(int a) : a_{a}, b_{1} { f(); }\n"
                       "  ~A() override;\n  A(const A&) = delete;\n  int f(std::vector<int> c = {}) const;\n"
                       " private:\n  using C = int;\n  friend class D;\n  enum class E { e, f };\n"
                       "  const int a_;\n  std::function<int(int)> b_ = [](int c) { return c; };\n};\n"),
            Texts{"A 5"});
  const Texts nested = {"A::B 1", "A 2"};
  EXPECT_EQ(
      members_in("namespace n {\ntemplate <class T>\nstruct A {\n  struct B {\n    int b;\n  };\n"
                 "  template <class U>\n  void f() {\n    struct Local { int c; };\n  }\n  B b;\n};\n}\n"),
      nested);
  EXPECT_EQ(members_in("class A;\nvoid f() { int a; }\nenum class B { a };\n"), Texts());
  std::string many = "struct A {\n";
  for (int member = 0; member < 40; ++member) many += "  int a" + std::to_string(member) + ";\n";
  EXPECT_EQ(snippet("sim/a.cpp", many + "};\n"), Texts());
  EXPECT_EQ(snippet("sim/a.cpp", many + "  int f();\n};\n"), Texts{"A: has 41 members, expected at most 40"});
}

TEST(TidyChecks, ExceptionsOnlyFall) {
  const std::vector<SizeRow> rows = {{"a.hpp", "A", 60}, {"a.hpp", "B", 80}};
  const SizeLimit limit = {"members", 40, 60, rows};
  const auto problems = [&](const std::string& name, std::size_t size) {
    Texts found;
    check_size("a.hpp", {name, size}, limit, found);
    return found;
  };
  EXPECT_EQ(problems("A", 41), Texts());
  EXPECT_EQ(problems("A", 60), Texts());
  EXPECT_EQ(problems("A", 61), Texts{"A: has 61 members, expected at most 60"});
  EXPECT_EQ(problems("A", 40), Texts{"A: has 40 members, expected no row in tests/tidy_exceptions.hpp"});
  EXPECT_EQ(problems("B", 80), Texts());
  EXPECT_EQ(problems("B", 81), Texts{"B: has 81 members, expected at most 80"});
  EXPECT_EQ(problems("B", 70),
            Texts{"B: has 70 members, expected 70 in its row of tests/tidy_exceptions.hpp"});
  EXPECT_EQ(problems("C", 41), Texts{"C: has 41 members, expected at most 40"});
}

TEST(TidyChecks, BuildFiles) {
  EXPECT_EQ(problems_of_build_file("file(GLOB sources *.cpp)\n").size(), 1U);
  EXPECT_EQ(problems_of_build_file("a()\nfile ( GLOB_RECURSE sources *.cpp)\n").size(), 1U);
  EXPECT_EQ(problems_of_build_file("add_library(a a.cpp)\nfile(READ GLOB text)\n"), Texts());
}

}  // namespace
}  // namespace tandem

#include "workloads/trace/read_trace.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/trace/chakra.hpp"
#include "workloads/trace/json_events.hpp"
#include "workloads/trace/packed_file.hpp"
#include "workloads/trace/text_source.hpp"

namespace tandem::trace {
namespace {

constexpr std::size_t tar_block = 512;

/// Reads the tokens; behind text that is not JSON it continues with the next event.
void parse(TextSource& source, JsonEvents& events, ReadingReport& report) {
  // More places are no accident of a profiler.
  constexpr std::uint64_t most_places = 100'000;
  const auto parse_once = [&] {
    return nlohmann::json::sax_parse(Cursor(source), Cursor(), &events, nlohmann::json::input_format_t::json,
                                     false);
  };
  while (!parse_once()) {
    if (!source.has_more()) {
      report.cut_at_byte = source.offset();
      return;
    }
    const std::uint64_t byte = source.offset() - 1;
    if (!report.first_broken_byte) report.first_broken_byte = byte;
    if (++report.broken_places > most_places)
      throw ConfigError(source.name() + ": expected a trace, found text that is not JSON in more than " +
                        std::to_string(most_places) + " places, first at byte " +
                        std::to_string(*report.first_broken_byte));
    events.restart();
    if (!source.skip_to_event("{\"traceEvents\":[")) return;
  }
}

void read_json(TextSource& source, PackedFile& file, const ReadOptions& options, Inputs& inputs) {
  const std::string name = source.name();
  TraceBuilder builder(name, options.communication);
  JsonEvents events(source, builder, [&] { options.progress(file.share_read()); });
  ReadingReport& report = builder.report();
  parse(source, events, report);
  if (!events.has_events()) {
    if (auto described = events.describe()) {
      described->broken_at_byte = report.first_broken_byte ? report.first_broken_byte : report.cut_at_byte;
      inputs.descriptions.push_back(std::move(*described));
      return;
    }
    if (report.cut_at_byte && !report.first_broken_byte)
      throw ConfigError(name + ": expected a trace, found one that ends early, at byte " +
                        std::to_string(*report.cut_at_byte) +
                        ", before its events; copy it again, or wait until the job has ended");
    throw ConfigError(name + ": expected a trace with \"traceEvents\", found " +
                      (report.first_broken_byte
                           ? "text that is not JSON at byte " + std::to_string(*report.first_broken_byte)
                           : "none") +
                      "; `tandem record` says how to record one");
  }
  report.is_empty_list = events.is_list() && report.events == 0;
  source.skip_to_end();
  report.bytes = source.offset();
  if (!file.broken().empty()) {
    report.cut_at_byte = source.offset();
    report.cut_because = file.broken();
  }
  inputs.traces.push_back(builder.finish());
}

void read_text(TextSource& source, PackedFile& file, const ReadOptions& options, Inputs& inputs) {
  if (!source.has_more())
    throw ConfigError(source.name() + ": expected a trace, found " +
                      (file.broken().empty() ? "an empty file" : file.broken()));
  if (looks_like_chakra(source.buffered()))
    inputs.descriptions.push_back(read_chakra(source));
  else
    read_json(source, file, options, inputs);
}

bool is_tar(const std::vector<char>& block) {
  constexpr std::size_t magic_at = 257;
  return block.size() == tar_block && std::memcmp(block.data() + magic_at, "ustar", 5) == 0;
}

struct TarMember {
  std::string name;
  std::uint64_t size = 0;
  bool is_file = false;
};

TarMember member_of(const std::vector<char>& block, const std::string& path) {
  constexpr std::size_t longest_name = 100, size_at = 124, size_digits = 11, type_at = 156;
  TarMember member;
  member.name.assign(block.data(), strnlen(block.data(), longest_name));
  const char* size = block.data() + size_at;
  const char* end = std::find_if_not(size, size + size_digits, [](char c) { return c >= '0' && c <= '7'; });
  constexpr int octal = 8;
  if (std::from_chars(size, end, member.size, octal).ec != std::errc())
    throw ConfigError(path + ": expected a tar archive of traces, found one that is broken");
  member.is_file = block[type_at] == '0' || block[type_at] == '\0';
  return member;
}

/// Archives of macOS have a second file "._NAME" for each file.
bool is_trace(const TarMember& member) {
  const auto slash = member.name.rfind('/');
  const std::string name = slash == std::string::npos ? member.name : member.name.substr(slash + 1);
  return member.is_file && !name.starts_with("._") && (name.ends_with(".json") || name.ends_with(".et"));
}

Inputs read_archive(PackedFile& file, std::vector<char> block, const std::string& path,
                    const ReadOptions& options) {
  constexpr std::size_t most_traces = 4096;
  Inputs inputs;
  while (is_tar(block) && inputs.traces.size() + inputs.descriptions.size() < most_traces) {
    const TarMember member = member_of(block, path);
    TextSource source(file, path + ": " + member.name, {}, member.size);
    if (is_trace(member)) read_text(source, file, options, inputs);
    source.skip_to_end();
    block.resize((tar_block - member.size % tar_block) % tar_block);
    file.read(block);
    block.resize(tar_block);
    block.resize(file.read(block));
  }
  if (inputs.traces.empty() && inputs.descriptions.empty())
    throw ConfigError(path + ": expected traces (.json or .et) in the tar archive, found none");
  return inputs;
}

}  // namespace

Inputs read_inputs(const std::string& path, const ReadOptions& options) {
  PackedFile file(path);
  std::vector<char> first(tar_block);
  first.resize(file.read(first));
  if (is_tar(first)) return read_archive(file, std::move(first), path, options);
  TextSource source(file, path, std::move(first));
  Inputs inputs;
  read_text(source, file, options, inputs);
  return inputs;
}

}  // namespace tandem::trace

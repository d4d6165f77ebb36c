#include "workloads/experiment/safe_yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/utf8.hpp"

namespace tandem {
namespace {

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : mark.line + 1; }

/// Checks the events of the parser before any node is built: stops at a second document and counts values
/// and their bytes with aliases expanded.
class Gate : public YAML::EventHandler {
 public:
  explicit Gate(const YamlSource& source) : source_(source) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    line_ = line_of(mark);
    if (++documents_ > 1) fail("expected one YAML document, found the start of a second one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add_scalar(mark, anchor, 0); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    add_scalar(mark, anchor, text.size());
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    line_ = line_of(mark);
    const auto known = sizes_.find(anchor);
    if (known == sizes_.end())
      fail("expected a finite document, found an alias inside the list or map that it refers to");
    add(known->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// The size of a value, with its aliases expanded.
  struct Size {
    std::size_t values = 0;
    std::size_t bytes = 0;  ///< of texts
  };
  /// A map or list whose end has not come.
  struct Open {
    YAML::anchor_t anchor;
    Size before;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(source_.at(line_) + ": " + what);
  }

  void add(const Size& size) {
    total_.values += size.values;
    total_.bytes += size.bytes;
    if (total_.values > most_yaml_values)
      fail("expected at most " + std::to_string(most_yaml_values) +
           " values, aliases expanded, found more; the document is too large");
    if (total_.bytes > largest_yaml)
      fail("expected at most " + std::to_string(largest_yaml >> 20) +
           " MiB of text, aliases expanded, found more; the document is too large");
  }
  void add_scalar(const YAML::Mark& mark, YAML::anchor_t anchor, std::size_t bytes) {
    line_ = line_of(mark);
    add({1, bytes});
    if (anchor != YAML::NullAnchor) sizes_[anchor] = {1, bytes};
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    line_ = line_of(mark);
    open_.push_back({anchor, total_});
    if (open_.size() > static_cast<std::size_t>(deepest_yaml))
      fail("expected at most " + std::to_string(deepest_yaml) +
           " lists and maps inside each other, found more");
    add({1, 0});
  }
  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor)
      sizes_[closed.anchor] = {total_.values - closed.before.values, total_.bytes - closed.before.bytes};
  }

  const YamlSource& source_;
  int line_ = 1;
  int documents_ = 0;
  Size total_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Size> sizes_;  ///< of values with an anchor that have ended
};

/// yaml-cpp takes zero bytes for a sign of UTF-16 or UTF-32, and then reads characters that do not exist.
void check_characters(const std::string& text, const YamlSource& source) {
  const auto bad = first_not_utf8(text);
  const std::size_t at = bad ? *bad : text.find('\0');
  if (at == std::string::npos) return;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  throw ConfigError(source.at(static_cast<int>(line)) + ": expected text in UTF-8, found " +
                    (bad ? "other bytes" : "a zero byte"));
}

/// Files that lie next to an experiment.
void refuse_other_files(const std::string& text, const std::string& path) {
  if (text.starts_with("\x1f\x8b"))
    throw ConfigError(path +
                      ": expected YAML, found a file packed by gzip, as traces are; make an experiment " +
                      "of a trace: tandem import " + path + " --out job.yaml");
  if (text.starts_with('<'))
    throw ConfigError(path +
                      ": expected YAML, found a page or a platform; name the file that ends with .yaml");
}

}  // namespace

std::string read_yaml_text(const std::string& path, const std::string& what) {
  const auto fail_to_read = [&](int error) {
    throw ConfigError(path + ": cannot read the " + what + " file: " + std::strerror(error));
  };
  // A folder opens like a file and only then cannot be read.
  std::error_code impossible;
  if (std::filesystem::is_directory(path, impossible)) fail_to_read(EISDIR);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_to_read(errno);
  // A device may have no end.
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() <= largest_yaml && (file.read(buffer.data(), buffer.size()) || file.gcount() > 0))
    text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
  if (text.size() > largest_yaml)
    throw ConfigError(path + ": expected at most " + std::to_string(largest_yaml >> 20) +
                      " MiB of YAML, found a larger file");
  refuse_other_files(text, path);
  return text;
}

YAML::Node parse_yaml(const std::string& text, const YamlSource& source) {
  check_characters(text, source);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Gate gate(source);
    while (parser.HandleNextDocument(gate)) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw ConfigError(source.at(line_of(error.mark)) + ": malformed YAML: " + error.msg);
  }
}

}  // namespace tandem

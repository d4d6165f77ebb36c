#include "platforms/host_properties.hpp"

#include <expat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

#include "platforms/platform_xml.hpp"
#include "platforms/xml_text.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"

namespace tandem::platforms {
namespace {

/// A part of the text that is removed, and what takes its place.
struct Edit {
  std::size_t begin;
  std::size_t length;
  std::string text;
};

/// Finds the places of edits while Expat reads the text.
struct Editor {
  const std::string& file;
  std::set<std::string> hosts = {};
  std::set<std::string> replaced = {};
  std::string properties = {};  ///< elements
  std::map<std::string, LinkRates> links = {};
  XML_Parser parser = nullptr;
  std::size_t begin = 0;             ///< of the XML in the file
  std::set<std::string> found = {};  ///< elements: "host" or "link", and the id
  std::vector<Edit> edits = {};
  bool in_host = false;
  int depth = 0;
  int host_depth = 0;
  std::size_t removed_from = std::string::npos;  ///< the property that is being read

  std::size_t at() const { return begin + static_cast<std::size_t>(XML_GetCurrentByteIndex(parser)); }
  std::size_t length() const { return static_cast<std::size_t>(XML_GetCurrentByteCount(parser)); }
  /// Expat reports the end of "<prop/>" at its own beginning, with no bytes.
  bool is_empty_tag() const { return file[at() + length() - 2] == '/'; }

  static void start(void* self, const char* name, const char** attributes) {
    auto& editor = *static_cast<Editor*>(self);
    ++editor.depth;
    std::map<std::string, std::string> values;
    for (; *attributes != nullptr; attributes += 2) values[attributes[0]] = attributes[1];
    const std::string_view tag = name;
    if (tag == "host" && editor.hosts.contains(values["id"])) return editor.enter_host(values["id"]);
    if (tag == "link" && editor.links.contains(values["id"])) return editor.change_link(values["id"]);
    if (tag == "prop" && editor.in_host && editor.replaced.contains(values["id"])) editor.remove_property();
  }

  static void end(void* self, const char* name) {
    auto& editor = *static_cast<Editor*>(self);
    if (editor.in_host && editor.depth == editor.host_depth) editor.in_host = false;
    if (editor.removed_from != std::string::npos && std::string_view(name) == "prop") editor.end_property();
    --editor.depth;
  }

  void enter_host(const std::string& id) {
    found.insert("host" + id);
    in_host = true;
    host_depth = depth;
    if (is_empty_tag())
      edits.push_back({at() + length() - 2, 2, ">" + properties + "\n    </host>"});
    else
      edits.push_back({at() + length(), 0, properties});
  }

  void change_link(const std::string& id) {
    found.insert("link" + id);
    const LinkRates& rates = links.at(id);
    std::string tag = file.substr(at(), length());
    set_attribute(tag, "bandwidth", rates.bandwidth);
    set_attribute(tag, "latency", rates.latency);
    edits.push_back({at(), length(), tag});
  }

  static void set_attribute(std::string& tag, const std::string& name, const std::string& value) {
    constexpr const char* blanks = " \t\r\n";
    for (std::size_t at = tag.find(name); at != std::string::npos; at = tag.find(name, at + 1)) {
      const std::size_t equals = tag.find_first_not_of(blanks, at + name.size());
      if (std::string_view(blanks).find(tag[at - 1]) == std::string_view::npos ||
          equals == std::string::npos || tag[equals] != '=')
        continue;
      const std::size_t open = tag.find_first_not_of(blanks, equals + 1);
      const std::size_t close = tag.find(tag[open], open + 1);
      tag.replace(open + 1, close - open - 1, value);
      return;
    }
    tag.insert(tag.size() - (tag[tag.size() - 2] == '/' ? 2 : 1), " " + name + "=\"" + value + "\"");
  }

  void remove_property() {
    // With the line, if the line has nothing else before it.
    std::size_t from = at();
    while (from > 0 && (file[from - 1] == ' ' || file[from - 1] == '\t')) --from;
    if (from > 0 && file[from - 1] == '\n')
      --from;
    else
      from = at();
    if (is_empty_tag()) {
      edits.push_back({from, at() + length() - from, ""});
      return;
    }
    removed_from = from;
  }

  void end_property() {
    edits.push_back({removed_from, at() + length() - removed_from, ""});
    removed_from = std::string::npos;
  }
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": expected a platform file, found none that can be read");
  return rest_of(file);
}

/// Errors: ConfigError for a text that is no platform file, and for an element that was not found.
std::string edited(const std::string& path, Editor& editor) {
  const std::string& text = editor.file;
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            XML_ParserFree);
  editor.parser = parser.get();
  editor.begin = begin_of_xml(text);
  XML_SetUserData(parser.get(), &editor);
  XML_SetElementHandler(parser.get(), Editor::start, Editor::end);
  if (XML_Parse(parser.get(), text.data() + editor.begin, static_cast<int>(text.size() - editor.begin), 1) !=
      XML_STATUS_OK)
    throw ConfigError(
        path + ": expected a platform file, found: " + XML_ErrorString(XML_GetErrorCode(parser.get())));
  const auto expect = [&](const char* element, const std::string& id) {
    if (!editor.found.contains(std::string(element) + id))
      throw ConfigError(path + ": expected an element <" + element + " id=\"" + id +
                        "\">, found none: a cluster declares this " + element);
  };
  for (const auto& host : editor.hosts) expect("host", host);
  for (const auto& [link, rates] : editor.links) expect("link", link);
  std::string changed;
  std::size_t copied = 0;
  for (const Edit& edit : editor.edits) {
    changed.append(text, copied, edit.begin - copied);
    changed += edit.text;
    copied = edit.begin + edit.length;
  }
  return changed.append(text, copied, std::string::npos);
}

}  // namespace

std::string with_host_properties(const std::string& path, const std::vector<std::string>& hosts,
                                 const std::map<std::string, std::string>& properties,
                                 const std::vector<std::string>& replaced) {
  const std::string text = read_file(path);
  std::string elements;
  for (const auto& [name, value] : properties)
    elements += "\n      <prop id=\"" + xml_text(name) + "\" value=\"" + xml_text(value) + "\"/>";
  Editor editor{.file = text,
                .hosts = {hosts.begin(), hosts.end()},
                .replaced = {replaced.begin(), replaced.end()},
                .properties = elements};
  return edited(path, editor);
}

std::string with_link_rates(const std::string& path, const std::map<std::string, LinkRates>& links) {
  const std::string text = read_file(path);
  Editor editor{.file = text, .links = links};
  return edited(path, editor);
}

}  // namespace tandem::platforms

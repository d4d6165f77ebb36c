#include "platforms/platform_xml.hpp"

#include <expat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"

namespace tandem::platforms {

namespace {

/// The state of a parser.
struct XmlReader {
  std::vector<XmlElement>& elements;
  XML_Parser parser;
  int skipped_lines;
  std::size_t skipped_bytes;
  std::vector<int> open = {};  ///< indices of the elements whose end has not been read

  int line() const { return skipped_lines + static_cast<int>(XML_GetCurrentLineNumber(parser)); }
  std::size_t offset() const {
    return skipped_bytes + static_cast<std::size_t>(XML_GetCurrentByteIndex(parser));
  }

  static void start(void* self, const char* name, const char** attributes) {
    auto& reader = *static_cast<XmlReader*>(self);
    XmlElement element{name,           {}, {}, reader.line(), reader.open.empty() ? -1 : reader.open.back(),
                       reader.offset()};
    for (; *attributes != nullptr; attributes += 2) element.attributes[attributes[0]] = attributes[1];
    reader.open.push_back(static_cast<int>(reader.elements.size()));
    reader.elements.push_back(std::move(element));
  }
  static void end(void* self, const char*) { static_cast<XmlReader*>(self)->open.pop_back(); }
  static void text(void* self, const char* characters, int count) {
    auto& reader = *static_cast<XmlReader*>(self);
    if (reader.open.empty()) return;
    reader.elements[static_cast<std::size_t>(reader.open.back())].text.append(
        characters, static_cast<std::size_t>(count));
  }
};

std::string read_whole(const std::string& path, const std::string& what) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw ConfigError(path + ": expected " + what + ", found no such file");
  if (fs::is_directory(status)) throw ConfigError(path + ": expected " + what + ", found a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": expected " + what + ", found one that cannot be read");
  return rest_of(file);
}

/// "0-99,200" -> 101. Bounds are `int`, like SimGrid's.
long long count_of_radical(const std::string& radical) {
  long long count = 0;
  std::istringstream groups(radical);
  for (std::string group; std::getline(groups, group, ',');) {
    int first = 0;
    const char* const end = group.data() + group.size();
    const auto start = std::from_chars(group.data(), end, first);
    if (start.ec != std::errc()) return 0;
    int last = first;
    if (start.ptr != end && (*start.ptr != '-' || std::from_chars(start.ptr + 1, end, last).ptr != end))
      return 0;
    if (last >= first) count += static_cast<long long>(last) - first + 1;
  }
  return count;
}

}  // namespace

std::string XmlElement::attribute(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

long long XmlElement::host_count() const {
  if (name == "host" || name == "peer") return 1;
  return name == "cluster" || name == "cabinet" ? count_of_radical(attribute("radical")) : 0;
}

std::size_t begin_of_xml(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string::npos ? 0 : begin;
}

std::vector<XmlElement> read_xml(const std::string& path, const std::string& what, const std::string& root) {
  const std::string text = read_whole(path, what);
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            XML_ParserFree);
  TANDEM_CHECK(parser != nullptr, "no memory for an XML parser");
  std::vector<XmlElement> elements;
  const std::size_t begin = begin_of_xml(text);
  XmlReader reader{
      elements, parser.get(),
      static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n')),
      begin};
  XML_SetUserData(parser.get(), &reader);
  XML_SetElementHandler(parser.get(), XmlReader::start, XmlReader::end);
  XML_SetCharacterDataHandler(parser.get(), XmlReader::text);
  if (XML_Parse(parser.get(), text.data() + begin, static_cast<int>(text.size() - begin), XML_TRUE) !=
      XML_STATUS_OK)
    throw ConfigError(path + ':' + std::to_string(reader.line()) + ": expected well-formed XML, found: " +
                      XML_ErrorString(XML_GetErrorCode(parser.get())));
  if (const XmlElement& first = elements.front(); first.name != root)
    throw ConfigError(path + ':' + std::to_string(first.line) + ": expected " + what + " with the root <" +
                      root + ">, found <" + first.name + '>');
  return elements;
}

PlatformXml::PlatformXml(std::string path) : path_(std::move(path)) {
  elements_ = read_xml(path_, "a SimGrid platform file", "platform");
}

std::string PlatformXml::place(const XmlElement& element) const {
  const std::string id = element.attribute("id");
  return path_ + ':' + std::to_string(element.line) + ": " + element.name +
         (id.empty() ? std::string() : " '" + id + "'");
}

std::map<std::string, std::string> PlatformXml::config() const {
  std::map<std::string, std::string> config;
  for (const auto& element : elements_)
    if (element.name == "prop" && elements_[static_cast<std::size_t>(element.parent)].name == "config")
      config[element.attribute("id")] = element.attribute("value");
  return config;
}

long long PlatformXml::host_count() const {
  long long count = 0;
  for (const auto& element : elements_) count += element.host_count();
  return count;
}

const XmlElement* PlatformXml::at_line(int line) const {
  const auto after =
      std::upper_bound(elements_.begin(), elements_.end(), line,
                       [](int wanted, const XmlElement& element) { return wanted < element.line; });
  return after == elements_.begin() ? nullptr : &*std::prev(after);
}

const XmlElement* PlatformXml::find(const std::string& name, const std::string& id) const {
  const auto found = std::find_if(elements_.begin(), elements_.end(), [&](const XmlElement& element) {
    return element.name == name && element.attribute("id") == id;
  });
  return found == elements_.end() ? nullptr : &*found;
}

const XmlElement* PlatformXml::cluster_of(const std::string& name) const {
  const auto found = std::find_if(elements_.begin(), elements_.end(), [&](const XmlElement& element) {
    if (element.name != "cluster" && element.name != "cabinet") return false;
    const std::string prefix = element.attribute("prefix");
    const std::string suffix = element.attribute("suffix");
    const bool is_host = name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
                         name.ends_with(suffix) &&
                         std::isdigit(static_cast<unsigned char>(name[prefix.size()])) != 0;
    return is_host || name.starts_with(element.attribute("id") + '_');
  });
  return found == elements_.end() ? nullptr : &*found;
}

}  // namespace tandem::platforms

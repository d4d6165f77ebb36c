// The elements of a platform file and their lines, as XML: SimGrid's own messages name neither. SimGrid
// interprets the elements; this code does not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem::platforms {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< all text between its tags
  int line;
  int parent;          ///< index of the element that contains it; -1 for the root
  std::size_t offset;  ///< in the file, in bytes

  /// Empty when the element does not have it.
  std::string attribute(const std::string& key) const;
  /// Hosts that SimGrid builds for this element. A radical that is not a list of numbers and ranges counts as
  /// none.
  long long host_count() const;
};

/// Where the XML of a file begins: SimGrid reads files with blank lines before <?xml ...?>, Expat does not.
std::size_t begin_of_xml(const std::string& text);

/// The elements of an XML file in their order; the first one is the root. `what`: what the file should be,
/// for messages: "a platform file". Errors: ConfigError when the file is missing, unreadable, empty, not XML,
/// or its root is not <root>.
std::vector<XmlElement> read_xml(const std::string& path, const std::string& what, const std::string& root);

class PlatformXml {
 public:
  /// Errors: ConfigError when the file is missing, unreadable, empty, not XML, or its root is not <platform>.
  explicit PlatformXml(std::string path);

  const std::string& path() const { return path_; }
  const std::vector<XmlElement>& elements() const { return elements_; }  ///< in the order of the file
  /// "lab.xml:12: link 'cable'"; an element without id is named by its tag alone.
  std::string place(const XmlElement& element) const;
  /// The file's own <config>: flag -> value.
  std::map<std::string, std::string> config() const;
  /// Hosts that SimGrid builds for the file, clusters included.
  long long host_count() const;
  /// The last element that starts on this line or before; null for a line before the root.
  const XmlElement* at_line(int line) const;
  /// The first element of this name (host, link ...) with this id; null when there is none.
  const XmlElement* find(const std::string& name, const std::string& id) const;
  /// The cluster that declares this host or link, by SimGrid's rules for their names; null when there is
  /// none.
  const XmlElement* cluster_of(const std::string& name) const;

 private:
  std::string path_;
  std::vector<XmlElement> elements_;
};

}  // namespace tandem::platforms

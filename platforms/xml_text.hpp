// Text as content of an element of XML or HTML, or as an attribute between double quotes.
#pragma once

#include <string>

namespace tandem::platforms {

inline std::string xml_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

}  // namespace tandem::platforms

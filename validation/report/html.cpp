#include "validation/report/html.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem::validation::html {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string typeset(const std::string& text) {
  if (text == "-") return "–";
  std::string result;
  for (const char c : escaped(text)) {
    if (c == '-')
      result += "−";
    else if (c == ' ')
      result += "&nbsp;";
    else
      result += c;
  }
  return result;
}

std::string json_in_script(const nlohmann::json& document) {
  std::string result;
  // "<" occurs in JSON only inside strings, where it may be written as an escape.
  for (const char c : document.dump()) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

std::string script(std::string_view text) { return "<script>" + std::string(text) + "</script>\n"; }

std::string fill(std::string_view page, const std::map<std::string, std::string>& values) {
  std::string result;
  while (true) {
    const auto begin = page.find("{{");
    result += page.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const auto end = page.find("}}", begin);
    TANDEM_CHECK(end != std::string_view::npos, "unfinished placeholder");
    const auto value = values.find(std::string(page.substr(begin + 2, end - begin - 2)));
    TANDEM_CHECK(value != values.end(), "placeholder", page.substr(begin, end - begin));
    result += value->second;
    page.remove_prefix(end + 2);
  }
}

}  // namespace tandem::validation::html

// Small helpers to write HTML safely. Pure texts.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tandem::validation::html {

/// Text that can stand anywhere in a page, also in an attribute.
std::string escaped(const std::string& text);
/// A number with its unit as printed matter: minus sign, spaces that do not break.
std::string typeset(const std::string& text);
/// JSON that can stand inside a <script> element: no text in it can end the element or open a comment.
std::string json_in_script(const nlohmann::json& document);
/// A script as an element of a page. Pre: it does not contain the end of such an element.
std::string script(std::string_view text);
/// The page with each {{name}} replaced by its value. A placeholder without value is a programmer's error.
std::string fill(std::string_view page, const std::map<std::string, std::string>& values);

}  // namespace tandem::validation::html

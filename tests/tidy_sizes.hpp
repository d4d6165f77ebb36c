// How large the classes and functions of a source file are. A simple parser of text in clang-format's layout:
// it knows braces, parentheses and semicolons, but neither types nor macros.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// A class with its members, or a function with its lines.
struct Sized {
  std::string name;  ///< "Outer::Inner"; of a function, the text of its first line
  std::size_t size = 0;
};

namespace tidy {

inline bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The words of a declaration, and its punctuation one by one.
inline std::vector<std::string> tokens_of(std::string_view code) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = at + 1;
    if (is_of_name(code[at]))
      while (end < code.size() && is_of_name(code[end])) ++end;
    else if (code.substr(at, 2) == "::")
      ++end;
    if (std::isspace(static_cast<unsigned char>(code[at])) == 0)
      tokens.emplace_back(code.substr(at, end - at));
    at = end;
  }
  return tokens;
}

inline bool has(const std::vector<std::string>& tokens, const std::string& token) {
  return std::ranges::find(tokens, token) != tokens.end();
}

/// "template <...>", "[[...]]" and "public:" before a declaration are no part of it.
inline void drop_openings(std::vector<std::string>& tokens) {
  const auto drop_to = [&tokens](const std::string& open, const std::string& close) {
    int depth = 0;
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      if (tokens[at] == open) ++depth;
      if (tokens[at] != close || --depth > 0) continue;
      tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      return;
    }
    tokens.clear();
  };
  for (;;) {
    const bool is_access = tokens.size() > 1 && tokens[1] == ":" &&
                           (tokens[0] == "public" || tokens[0] == "private" || tokens[0] == "protected");
    if (is_access)
      tokens.erase(tokens.begin(), tokens.begin() + 2);
    else if (!tokens.empty() && tokens[0] == "template")
      drop_to("<", ">");
    else if (!tokens.empty() && tokens[0] == "[")
      drop_to("[", "]");
    else
      return;
  }
}

/// What is in front of a brace, or of the semicolon that ends a declaration, and says what it is.
struct Declaration {
  std::vector<std::string> tokens;

  bool is_type() const {
    if (tokens.empty() || has(tokens, "(")) return false;
    static constexpr std::array kinds = {"class", "struct", "union", "enum"};
    return std::ranges::find(kinds, tokens[0]) != kinds.end();
  }
  bool has_members() const { return is_type() && tokens[0] != "enum"; }
  bool is_namespace() const { return has(tokens, "namespace") && !has(tokens, "using") && !has(tokens, "="); }
  /// Of a type: its last word before what it derives from.
  std::string type_name() const {
    std::string name;
    for (std::size_t at = 1;
         at < tokens.size() && tokens[at] != ":" && tokens[at] != "<" && tokens[at] != "final"; ++at)
      if (is_of_name(tokens[at][0])) name = tokens[at];
    return name;
  }
  /// Functions and fields, also static ones. Types, aliases, friends and assertions are not counted, nor
  /// functions that are only defaulted or deleted. "int a, b;" declares two.
  std::size_t members() const {
    if (tokens.empty() || is_type()) return 0;
    static constexpr std::array none = {"using", "typedef", "friend", "static_assert"};
    if (std::ranges::find(none, tokens[0]) != none.end()) return 0;
    if (tokens.back() == "default" || tokens.back() == "delete") return 0;
    if (has(tokens, "(")) return 1;
    int depth = 0;
    std::size_t count = 1;
    for (const auto& token : tokens) {
      if (token == "=") break;
      if (token == "<") ++depth;
      if (token == ">") --depth;
      if (token == "," && depth == 0) ++count;
    }
    return count;
  }
};

/// A brace that is open.
struct Scope {
  enum class Kind { transparent, type, body };
  Kind kind = Kind::body;
  std::string name;         ///< of a type, with those around it
  std::size_t members = 0;  ///< of a type, so far
  bool ends_declaration = false;
};

}  // namespace tidy

/// Of each class, struct and union that is defined in the code: its members. `code`: without comments and
/// literals.
inline std::vector<Sized> classes_of(const std::string& code) {
  using tidy::Scope;
  std::vector<Sized> found;
  std::vector<Scope> scopes = {{Scope::Kind::transparent, "", 0, false}};
  std::string text;
  int parentheses = 0;
  const auto declaration = [&text] {
    tidy::Declaration made{tidy::tokens_of(text)};
    tidy::drop_openings(made.tokens);
    return made;
  };
  const auto end_declaration = [&] {
    if (scopes.back().kind == Scope::Kind::type) scopes.back().members += declaration().members();
    text.clear();
  };
  const auto open = [&] {
    const tidy::Declaration before = declaration();
    Scope scope;
    if (scopes.back().kind == Scope::Kind::body || parentheses > 0) {
      // Everything inside a function, an initialiser or an argument is a part of it.
    } else if (before.is_namespace() || tidy::has(before.tokens, "extern")) {
      scope.kind = Scope::Kind::transparent;
      text.clear();
    } else if (before.has_members()) {
      const std::string& outer = scopes.back().name;
      scope = {Scope::Kind::type, (outer.empty() ? "" : outer + "::") + before.type_name(), 0, false};
      text.clear();
    } else {
      // The body of a function ends its declaration; what is in the braces of a field or an enum does not.
      scope.ends_declaration =
          tidy::has(before.tokens, "(") && before.tokens.back() != "=" && !before.is_type();
    }
    scopes.push_back(scope);
  };
  const auto close = [&](std::size_t at) {
    if (scopes.size() == 1) return;
    const Scope scope = scopes.back();
    scopes.pop_back();
    if (scope.kind == Scope::Kind::type) found.push_back({scope.name, scope.members});
    // A body that is followed by more, as the braces of an initialiser list are, has not ended it.
    const auto next = code.find_first_not_of(" \n", at + 1);
    const bool continues =
        next != std::string::npos && (code[next] == ',' || code[next] == '{' || code[next] == ')');
    if (scopes.back().kind != Scope::Kind::body && scope.ends_declaration && !continues && parentheses == 0)
      end_declaration();
  };
  bool is_directive = false;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '#' && (at == 0 || code[at - 1] == '\n')) is_directive = true;
    if (c == '\n' && (at == 0 || code[at - 1] != '\\')) is_directive = false;
    if (is_directive) continue;
    if (c == '(') ++parentheses;
    if (c == ')' && parentheses > 0) --parentheses;
    if (c == '{') {
      open();
    } else if (c == '}') {
      close(at);
    } else if (scopes.back().kind != Scope::Kind::body) {
      if (c == ';' && parentheses == 0)
        end_declaration();
      else
        text += c;
    }
  }
  return found;
}

/// Of each function its lines, in clang-format's layout: free functions and members that are defined outside
/// their class end with a brace in the first column, and members of a class there with a brace in the third.
/// It begins after the last line that starts in the same column. `blanked`: the lines without comments and
/// literals.
inline std::vector<Sized> functions_of(const std::vector<std::string>& written,
                                       const std::vector<std::string>& blanked) {
  std::vector<Sized> found;
  std::array<std::size_t, 2> starts = {0, 0};
  bool is_in_class = false;
  for (std::size_t at = 0; at < blanked.size(); ++at) {
    const std::string& line = blanked[at];
    const auto indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || indent > 2 || indent == 1) continue;
    const bool is_member = indent == 2;
    const std::string code = line.substr(indent, line.find_last_not_of(' ') + 1 - indent);
    std::size_t& start = starts[is_member ? 1 : 0];
    const bool closes = code == "}" && written[at].substr(indent) == "}";
    if (closes && (!is_member || is_in_class))
      found.push_back({written[start].substr(indent), at - start + 1});
    start = at;
    if (!is_member) is_in_class = code.starts_with("class ") || code.starts_with("struct ");
  }
  return found;
}

}  // namespace tandem

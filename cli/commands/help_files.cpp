#include "cli/commands/help_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/shared/exit_codes.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

/// Text as man(7) prints it unchanged.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
  }
  return result;
}

/// Lines at whose beginning a dot or an apostrophe is no macro.
std::string lines_of(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const bool is_macro = !line.empty() && (line.front() == '.' || line.front() == '\'');
    result += (is_macro ? "\\&" : "") + escaped(line) + '\n';
  }
  return result;
}

std::vector<const CLI::App*> commands_below(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const auto* command : app.get_subcommands(std::function<bool(const CLI::App*)>()))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : commands_below(app)) names.push_back(command->get_name());
  return names;
}

/// "--out", "-o"; of a positional argument, its name.
std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  if (names.empty()) names.push_back(option.get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options(std::function<bool(const CLI::Option*)>()))
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Calls `visit(command, "study-merge")` for every command.
void visit_commands(const CLI::App& app, const std::string& name,
                    const std::function<void(const CLI::App&, const std::string&)>& visit) {
  visit(app, name);
  for (const auto* command : commands_below(app))
    visit_commands(*command, name + '-' + command->get_name(), visit);
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw WorldError("cannot write " + path.string());
}

}  // namespace

std::string man_page(const CLI::App& command, const std::string& name) {
  std::string words = name;
  for (char& letter : words)
    if (letter == '-') letter = ' ';
  std::string page =
      fmt::format(".TH {} 1 \"\" \"Tandem {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", name,
                  TANDEM_VERSION, escaped(name), escaped(command.get_description()), escaped(words));
  std::string options;
  for (const auto* option : command.get_options(std::function<bool(const CLI::Option*)>())) {
    if (option->get_group().empty()) continue;
    if (!option->nonpositional()) page += fmt::format(".I {}\n", escaped(option->get_name()));
    options +=
        fmt::format(".TP\n.B {}\n{}", escaped(fmt::format("{}", fmt::join(option_names(*option), ", "))),
                    lines_of(option->get_description()));
  }
  page += "[OPTIONS]\n.SH OPTIONS\n" + options;
  const auto below = commands_below(command);
  if (!below.empty()) page += ".SH COMMANDS\n";
  for (const auto* one : below)
    page += fmt::format(".TP\n.BR {}\\-{} (1)\n{}", escaped(name), escaped(one->get_name()),
                        lines_of(one->get_description()));
  if (!command.get_footer().empty()) page += ".SH NOTES\n.nf\n" + lines_of(command.get_footer()) + ".fi\n";
  return page;
}

std::string bash_completion(const CLI::App& app) {
  std::string cases;
  for (const auto* command : commands_below(app))
    cases += fmt::format("    {}) options=\"{}\" words=\"{}\" ;;\n", command->get_name(),
                         fmt::join(option_names(*command), " "), fmt::join(names_below(*command), " "));
  return fmt::format(
      "# Completion of tandem for bash.\n"
      "_tandem() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= word "
      "options words\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    [[ $word == -* ]] || {{ command=$word; break; }}\n"
      "  done\n"
      "  case $command in\n"
      "    '') options=\"{}\" words=\"{}\" ;;\n"
      "{}"
      "  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  elif [[ $before == --* ]]; then\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "    [[ -z $command ]] || COMPREPLY+=($(compgen -d -- \"$current\") $(compgen -f -X '!*.yaml' -- "
      "\"$current\") $(compgen -f -X '!*.xml' -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _tandem tandem\n",
      fmt::join(option_names(app), " "), fmt::join(names_below(app), " "), cases);
}

std::string zsh_completion(const CLI::App& app) {
  std::string cases;
  for (const auto* command : commands_below(app))
    cases += fmt::format("    {}) options=({}) below=({}) ;;\n", command->get_name(),
                         fmt::join(option_names(*command), " "), fmt::join(names_below(*command), " "));
  return fmt::format(
      "#compdef tandem\n"
      "# Completion of tandem for zsh.\n"
      "_tandem() {{\n"
      "  local command= word\n"
      "  local -a options below\n"
      "  for word in \"${{(@)words[2,CURRENT-1]}}\"; do\n"
      "    [[ $word == -* ]] || {{ command=$word; break; }}\n"
      "  done\n"
      "  case $command in\n"
      "    '') options=({}) below=({}) ;;\n"
      "{}"
      "  esac\n"
      "  if [[ $words[CURRENT] == -* ]]; then\n"
      "    compadd -- $options\n"
      "  elif [[ $words[CURRENT-1] == --* ]]; then\n"
      "    _files\n"
      "  else\n"
      "    compadd -- $below\n"
      "    [[ -z $command ]] || _files -g '*.(yaml|xml)(-.)' -g '*(-/)'\n"
      "  fi\n"
      "}}\n"
      "_tandem \"$@\"\n",
      fmt::join(option_names(app), " "), fmt::join(names_below(app), " "), cases);
}

void add_help_files(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("help-files", "Write man pages and shell completion");
  command->group("");
  const auto folder = std::make_shared<std::string>();
  command->add_option("FOLDER", *folder, "The share folder of an installation")->required();
  command->callback([&app, folder, &exit_code] {
    const std::filesystem::path share(*folder);
    visit_commands(app, "tandem", [&](const CLI::App& one, const std::string& name) {
      write_text(share / "man/man1" / (name + ".1"), man_page(one, name));
    });
    write_text(share / "bash-completion/completions/tandem", bash_completion(app));
    write_text(share / "zsh/site-functions/_tandem", zsh_completion(app));
    exit_code = exit_success;
  });
}

}  // namespace tandem::cli

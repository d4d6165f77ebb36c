// The files that are installed with the program: platforms, experiments, studies and suites.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace tandem::cli {

/// PREFIX/share/tandem of the program PREFIX/bin/tandem; empty when there is none, as in a build folder.
std::filesystem::path shipped_folder();

/// For arguments that name a file: one that does not exist from here, but in the shipped folder, becomes that
/// of the shipped folder.
CLI::Validator or_shipped();

}  // namespace tandem::cli

// `tandem show MODEL`: what a step of a model consists of.
#pragma once

#include <string>

namespace tandem::cli {

/// Whether the text can only be a model: a name of the catalogue, perhaps with options, or one that is
/// neither a file nor looks like a file's name.
bool names_model(const std::string& text);

/// Prints flops, bytes and launches by kind of layer, and sizes. `dataset`: whose images it is for; empty:
/// those for which models of its kind are made. Errors: ConfigError.
void show_model(const std::string& model, const std::string& dataset);

}  // namespace tandem::cli

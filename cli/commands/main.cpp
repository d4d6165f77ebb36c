// The program `tandem`.
#include "cli/commands/tandem_main.hpp"
#include "runtime/process/end_process.hpp"

int main(int argc, char** argv) { tandem::end_process(tandem::tandem_main(argc, argv)); }

# cmake -DFILE=table.csv -DNAME=function -DTO=table.cpp -P embed.cmake: a function that returns the text of the file.
file(READ "${FILE}" text)
# A string literal may not be of any length.
string(LENGTH "${text}" length)
set(parts "")
set(from 0)
while(from LESS length)
  string(SUBSTRING "${text}" ${from} 8000 part)
  string(APPEND parts "  text += R\"table(${part})table\";\n")
  math(EXPR from "${from} + 8000")
endwhile()
file(WRITE "${TO}" "#include \"platforms/embedded_tables.hpp\"\n\nnamespace tandem::platforms {\n
std::string ${NAME}() {\n  std::string text;\n${parts}  return text;\n}\n\n}  // namespace tandem::platforms\n")

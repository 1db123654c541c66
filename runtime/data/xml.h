/* XML as data sets use it, read as a stream: elements, attributes, text, the five named entities
 * and numeric ones. Document types (and so entities of a document's own) and CDATA are refused. */
#ifndef FT_DATA_XML_H
#define FT_DATA_XML_H

#include "base/source.h"

enum { FT_XML_NAME = 64, FT_XML_DEPTH = 64, FT_XML_ATTRIBUTES = 16, FT_XML_LIMIT = 16 << 20 };

typedef enum ft_xml_event { FT_XML_START, FT_XML_END, FT_XML_TEXT, FT_XML_DONE } ft_xml_event;

typedef struct ft_xml {
  ft_source *source;
  const char *path;
  uint64_t line; /* of what was read last */
  char chunk[4096];
  size_t at, end;
  char name[FT_XML_DEPTH][FT_XML_NAME]; /* of the open elements, and of the one just closed */
  size_t depth;                         /* elements open, of START the new one included */
  bool closing;                         /* <a/> was started: its end comes next */
  /* Of START. */
  char attribute[FT_XML_ATTRIBUTES][FT_XML_NAME];
  size_t value[FT_XML_ATTRIBUTES]; /* where in `text` each value begins */
  size_t attributes;
  /* Of TEXT: characters between two tags, not empty, NUL-terminated. Of START: the attributes'
   * values. */
  char *text;
  size_t length, capacity;
} ft_xml;

/** `path` must outlive the reader. */
filtra_status ft_xml_open(const char *path, ft_xml **xml);
/** Errors begin "file:line: ". */
filtra_status ft_xml_next(ft_xml *xml, ft_xml_event *event);
/** The name of the element that START or END is about. */
const char *ft_xml_name(const ft_xml *xml, ft_xml_event event);
/** The value of an attribute of START; NULL when it has none of that name. */
const char *ft_xml_attribute(const ft_xml *xml, const char *name);
/** Puts "file:line: " before the message. */
filtra_status ft_xml_fail(const ft_xml *xml, filtra_status status);
void ft_xml_close(ft_xml **xml);

#endif

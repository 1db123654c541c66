/* Reads the XML that data sets use, as a stream: elements, attributes, text, the five named
 * entities, and numeric ones. Refuses document types (and so a document's own entities) and
 * CDATA. */
#ifndef FT_DATA_XML_H
#define FT_DATA_XML_H

#include "base/source.h"

enum { FT_XML_NAME = 64, FT_XML_DEPTH = 64, FT_XML_ATTRIBUTES = 16, FT_XML_LIMIT = 16 << 20 };

typedef enum ft_xml_event { FT_XML_START, FT_XML_END, FT_XML_TEXT, FT_XML_DONE } ft_xml_event;

typedef struct ft_xml {
  ft_source *source;
  const char *path;
  uint64_t line; /* line of the last byte read */
  char chunk[4096];
  size_t at, end;
  char name[FT_XML_DEPTH][FT_XML_NAME]; /* names of the open elements, and of the last one closed */
  size_t depth;                         /* open elements, including the current START */
  bool closing;                         /* START was <a/>: its END comes next */
  /* For START. */
  char attribute[FT_XML_ATTRIBUTES][FT_XML_NAME];
  size_t value[FT_XML_ATTRIBUTES]; /* offset of each value in `text` */
  size_t attributes;
  /* For TEXT: the characters between two tags, not empty, NUL-terminated. For START: the
   * attributes' values. */
  char *text;
  size_t length, capacity;
} ft_xml;

/** `path` must outlive the reader. */
filtra_status ft_xml_open(const char *path, ft_xml **xml);
/** Errors begin "file:line: ". */
filtra_status ft_xml_next(ft_xml *xml, ft_xml_event *event);
/** Name of the element of a START or END. */
const char *ft_xml_name(const ft_xml *xml, ft_xml_event event);
/** Value of an attribute of START; NULL if it has no such attribute. */
const char *ft_xml_attribute(const ft_xml *xml, const char *name);
/** Puts "file:line: " before the message. */
filtra_status ft_xml_fail(const ft_xml *xml, filtra_status status);
void ft_xml_close(ft_xml **xml);

#endif

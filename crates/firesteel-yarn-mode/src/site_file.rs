//! The parser of Hadoop's configuration files: XML with a name and a value in each property.

use roxmltree::{Document, Node};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteProperty {
    pub name: String,
    /// The property's value as written, with variables.
    pub value: String,
    /// Whether later files may change the property.
    pub finality: Finality,
}

/// Whether later files may change a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// Later files may change the property.
    Open,
    /// Later files may not change the property: `<final>true</final>`.
    Final,
}

/// Why a file is not one of Hadoop's files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteFileError {
    #[error("not XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// The root element has another name.
    #[error("it begins with <{found}> instead of <configuration>")]
    Root { found: String },
    #[error(
        "line {line} includes another file, which Firesteel does not support: copy the properties into this file"
    )]
    Include {
        /// The line number, counted from 1.
        line: u32,
    },
}

/// The properties of a file, in the file's order. Elements without a name or a value are skipped.
///
/// Source: Hadoop 3.4.1, `Configuration`. Unlike Hadoop, a file that includes another file is an error
/// (`SiteFileError::Include`).
///
/// # Errors
/// The text is not one of Hadoop's files.
pub fn parse(text: &str) -> Result<Vec<SiteProperty>, SiteFileError> {
    let document = Document::parse(text)?;
    let root = document.root_element();
    if root.tag_name().name() != "configuration" {
        return Err(SiteFileError::Root { found: root.tag_name().name().to_owned() });
    }
    if let Some(include) = root.descendants().find(|node| node.tag_name().name() == "include") {
        return Err(SiteFileError::Include { line: document.text_pos_at(include.range().start).row });
    }
    let properties = root.descendants().filter(|node| node.has_tag_name("property"));
    Ok(properties.filter_map(property).collect())
}

/// Reads a property. Its parts are child elements or attributes.
fn property(element: Node<'_, '_>) -> Option<SiteProperty> {
    let part = |name: &str| {
        let child = element.children().find(|child| child.has_tag_name(name)).map(text);
        child.or_else(|| element.attribute(name).map(str::to_owned))
    };
    let name = part("name")?.trim().to_owned();
    let finality = match part("final").as_deref().map(str::trim) {
        Some("true") => Finality::Final,
        Some(_) | None => Finality::Open,
    };
    Some(SiteProperty { value: part("value")?, finality, name: Some(name).filter(|name| !name.is_empty())? })
}

fn text(element: Node<'_, '_>) -> String {
    element.children().filter_map(|child| child.text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String, Finality)> {
        let properties = parse(text).expect("it is one of Hadoop's");
        properties.into_iter().map(|it| (it.name, it.value, it.finality)).collect()
    }

    #[test]
    fn a_property_has_a_name_a_value_and_perhaps_the_last_word() {
        let text = r#"<?xml version="1.0"?>
            <?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
            <!-- by hand -->
            <configuration>
              <property><name> a </name><value>1</value><final>true</final></property>
              <property><name>b</name><value>x &lt; <![CDATA[y & z]]></value><description>?</description></property>
              <property name="c" value="3"/>
              <property><name>d</name></property>
              <property><value>e</value></property>
              <property><name>f</name><value/></property>
            </configuration>"#;
        let expected = [
            ("a", "1", Finality::Final),
            ("b", "x < y & z", Finality::Open),
            ("c", "3", Finality::Open),
            ("f", "", Finality::Open),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(name, value, end)| (name.to_owned(), value.to_owned(), end)).collect();
        assert_eq!(pairs(text), expected);
    }

    #[test]
    fn what_is_no_file_of_hadoops_is_told() {
        let said = |text: &str| parse(text).expect_err("it is none").to_string();
        assert!(said("yarn.resourcemanager.hostname=rm").starts_with("not XML: "));
        assert!(said("<configuration><property></configuration>").starts_with("not XML: "));
        assert_eq!(said("<project/>"), "it begins with <project> instead of <configuration>");
        assert_eq!(
            said(
                "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n<xi:include href=\"a.xml\"/></configuration>"
            ),
            "line 2 includes another file, which Firesteel does not support: copy the properties into this file"
        );
        // A few bytes that would expand to gigabytes.
        let bomb =
            "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><configuration>&b;</configuration>";
        assert!(said(bomb).starts_with("not XML: "));
    }
}

"""OpenVINO IRs as files: the .xml and the .bin, which are replaced as a pair; begin with `openvino_ir`.

Door: openvino_ir, openvino_models, openvino_net, openvino_xml.
"""
